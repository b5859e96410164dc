package llm

// signal is one thing that the words or the general codes of an error say. What
// a set of signals means together is decided in classify.go.
type signal uint8

const (
	sigOverflow  signal = iota // the prompt is larger than the model's window
	sigTooMuch                 // too much of something: a window or a budget
	sigThrottle                // a rate limit, in so many words
	sigBudget                  // tokens or requests per minute or day
	sigWait                    // wait, and it works again
	sigBroke                   // the account has no money left
	sigPay                     // money or credit is demanded
	sigDue                     // "payment required", which may be no more than the name of a status
	sigPlanQuota               // OpenAI's "check your plan and billing details"
	sigWindow                  // a plan's window is used up
	sigReset                   // it ends by itself, at a time or in a while
	sigTeamCap                 // a spending limit of an organization or workspace
	sigSpendCap                // a spending limit of anybody else
	sigOverload                // the provider is busy
	sigDead                    // key, account or organization is gone for good
	sigModel                   // this model is not there for this credential
	sigRefusal                 // the model or its safety layer declined
	sigFormat                  // a known fault of the request's content
	sigUnseen                  // the model reads no images, which is no fault of the model
	sigAuth                    // a bad or expired credential, in so many words
	sigExpired                 // a login or session has expired
	sigAPIError                // type api_error, which says nothing by itself
	sigTransient               // the text of a passing server fault
	sigTimeout                 // a time-out or a broken connection
	sigServer                  // the provider's own fault
	sigLimited                 // weak words and codes: act only where no status speaks
	sigDenied
	sigNotFound
	sigInvalid
	sigAccount   // the limit covers the whole account
	sigThisModel // the limit covers one model
	sigAdvert    // an advertisement begins; never set
	numSignals
)

// wordTable is every phrase that means something; see [phraseIndex.add] for how
// a line is read. Phrases are as long as it takes to be sure of them. Letters
// outside of ASCII part words, so that "überlastet" is berlastet here, and
// "clé" is cl.
var wordTable = []struct {
	sig     signal
	only    family
	phrases string
}{
	// First, because an advertisement may begin with the words of a demand.
	{sig: sigAdvert, phrases: `
		need more tokens
		need more
		upgrade to|your|for|now|today|at|here
		please upgrade
		consider upgrading
		upgrading to
		to increase your|the
		add # credits to unlock|get|increase|raise
		to unlock
		to get more|higher
		would like to further increase
		subscribe to
		contact sales
		for a more stable experience
		learn more
		for more information
		to learn more
		read the docs
		visit our
	`},
	{sig: sigOverflow, phrases: `
		prompt|prompts .. too long|large
		input|inputs .. too long|large for ... model
		input length|tokens .. too long|large
		input token|tokens length|count .. too long|large
		input|inputs .. exceeds|exceed .. maximum .. tokens
		input|prompt|messages|request|conversation .. exceeds|exceed|exceeded ... context
		input|prompt ... exceeds|exceed max|maximum length
		input|inputs tokens ... must be
		inputs must have less than # tokens
		input token count ... exceeds|exceed
		input token count .. # but
		prompt token count ... exceeds
		maximum|max context length|size|window
		maximum prompt length is #
		maximum model length of #
		max_model_len
		model s context length
		longer than .. model s context
		context length .. exceeded|overflow|overflows
		context|sequence length ... longer than
		context_length exceeded
		context size ... exceeded
		context window ... exceeds|exceeded|full|limit
		context limit|overflow|overflowed
		exceeds|exceed|exceeded .. context length|window|size|limit
		exceeds|exceed|exceeded the|your|its|available|maximum ... context length|window|size|limit
		exceeds|exceed|exceeded .. model s|token|tokens context
		exceeded model token limit
		exceeds|exceed the model s maximum limit
		total tokens exceeds|exceed|exceeded
		total number of tokens ... exceed|exceeds
		available context size
		greater than the context length
		larger than the context
		larger context length
		when context the overflows
		n_keep
		n_ctx
		reduce the length of .. messages|prompt|input|conversation
		shorten your|the prompt|messages|conversation|input
		max_tokens must be at least 1 got #
		max_completion_tokens must be at least 1 got #
		length and max_tokens exceed context limit
		range of input length should be
		request exceeds the maximum size
		request exceeds the maximum allowed number of bytes
		request entity too large
		payload too large
		request_too_large
		string too long ... maximum length
		too many input tokens
		too many tokens in .. prompt|input|request|messages
		inputs tokens max_new_tokens must be
		contains # tokens ... maximum
		maximum .. sequence length
		requires a sequence length
		max_seq_len
		eingabe|anfrage|prompt .. zu lang|gro
		kontextl nge|kontextfenster
		kontextfenster .. berschritten|gro
		longitud .. contexto
		ventana de contexto
		entrada .. demasiado larga
		longueur .. contexte
		contexte .. trop long
	`},
	{sig: sigTooMuch, phrases: `
		too many tokens
		request .. too large
		token limit exceeded
		tokens exceeded
	`},
	{sig: sigThrottle, phrases: `
		rate limit|limited|limits|limiting
		rate_limit
		ratelimit|ratelimited|ratelimits
		rate exceeded
		request|token|tokens rate ... exceeded
		too many requests
		too many concurrent
		too many api requests
		concurrency limit|limits
		concurrent request|requests|connections|sessions limit|limits ... reached|exceeded
		concurrent request|requests ... exceeded|exceeds|reached
		maximum concurrent requests
		max concurrency
		exceeded|exceeds|reached .. concurrency
		throttled|throttling|throttle
		resource|resources .. exhausted
		quota limit exceeded
		workers_ai ... quota limit exceeded
		allocated quota exceeded
		per model limit
		request tokens has exceeded
		requests ... have|has exceeded ... limit
		exceeding the account quotas
		exceeded .. requests ... minute|hour|day|second
		request limit exceeded|reached
		requests limit exceeded|reached
		sending requests too quickly|fast
		slow down
		request|requests rate .. too high
		reduce .. request|requests rate|frequency
		reduce .. frequency .. requests
		code resourceexhausted
		zu viele anfragen
		anfragelimit|ratenlimit|ratenbegrenzung .. erreicht|berschritten
		troppe richieste
		demasiadas|muitas solicitudes|peticiones|solicita|requisi
		mite de solicitudes|peticiones|solicita|requisi|velocidad|tasa
		trop de requ tes
		limite de requ tes
	`},
	{sig: sigBudget, phrases: `
		tokens|requests|token|request per min|minute|day|hour|second|month
		tpm|rpm|tpd|rpd|tph|itpm|otpm|rps|qps
		perminute|perday
		quota exceeded for metric
		quota exceeded for .. quota metric
	`},
	{sig: sigWait, phrases: `
		please wait before
		please wait and
		please wait a|for
		wait before trying
		wait # seconds|minutes|hours
		try|retry|retrying .. again in|after #
		retry in|after #
		retrying in #
	`},
	{sig: sigReset, phrases: `
		resets|renews
		will reset|renew
		reset|renew at|on|in|after|tomorrow
		regain access
		try|retry again in|at #
		try again tomorrow
		try again at|on
		available again
		refreshes|replenishes|replenish|replenished
		next billing cycle
		until tomorrow|midnight
		please retry in #
		retry after # seconds|minutes|hours|days
	`},
	{sig: sigBroke, phrases: `
		out of extra usage
		payment failed|overdue|declined
		insufficient ... balance|credits|credit|funds|quota|fund
		insufficient_balance
		not enough credits|credit|balance|funds|money
		credit balance ... low|insufficient|exhausted|negative|empty|depleted|zero
		balance .. too low|insufficient|exhausted|negative|empty|depleted
		balance .. not enough|sufficient|zero
		low|no|zero|negative balance
		out of .. credits|credit|funds|money|balance
		run|ran out of .. credits|credit|funds|money|balance|points|tokens
		no .. credits|credit left|remaining|available
		no remaining|available credits|credit
		have|has no credits|credit
		used .. all .. credits|points
		used up .. credits|points|balance
		credits|credit|funds|points .. exhausted|depleted|insufficient|expired
		credits|credit|funds|points .. used up
		exceeded .. included credits
		exceeded .. credit limit
		credit limit .. exceeded|reached
		prepayment|prepaid credits|balance ... depleted|exhausted|insufficient
		requires more credits
		requires .. paid credits
		payment method .. required|declined|failed|expired|invalid
		no payment method
		billing hard limit
		billing is|has .. disabled
		billing .. not active|enabled
		billing not active|enabled
		billing_not_active
		account is not active ... billing
		account is suspended ... billing
		arrears|arrearage|overdue
		past due
		unpaid invoice|invoices|balance|bill
		subscription .. expired|lapsed|inactive|required|ended|cancelled|canceled
		no active subscription
		need|requires .. subscription
		free quota .. exhausted
		free tier .. exhausted
		free trial .. ended|expired|exhausted
		trial .. ended|expired
		insufficient usd
		draw from your extra usage
		t|not have any|enough .. credits|credit|balance|funds
		failure to pay
		past invoices
		guthaben .. aufgebraucht|ausreichend|leer|ersch|niedrig
		kein|unzureichendes|gend guthaben
		saldo|fondos|ditos insuficiente|insuficientes
		credito|saldo insufficiente
		sin saldo|fondos
		saldo|ditos .. agotado|agotados|esgotado|esgotados
		solde|fonds|dit|dits insuffisant|insuffisants
		solde .. puis
	`},
	{sig: sigBroke, only: familyOpenRouter, phrases: `
		key limit exceeded
	`},
	{sig: sigPay, phrases: `
		add .. credits|credit|funds|money|balance
		add a .. payment|credit
		purchase|buy .. credits|credit|tokens
		top up
		topup
		recharge
		enable billing
		update .. payment|billing
		set up billing
		pay as you go
		please pay
		settle your|the
		activate|activating payment|payments|billing
		guthaben auf
		laden .. konto auf
		recargue|recarga .. cuenta|saldo
		recharger|rechargez .. compte|solde
	`},
	{sig: sigDue, phrases: `
		payment required
		payment is required
		payment instrument
	`},
	{sig: sigPlanQuota, phrases: `
		exceeded your current token quota
		check your .. account balance
		check your plan and billing
		exceeded your current quota
	`},
	{sig: sigWindow, phrases: `
		daily|weekly|monthly spend|spending|budget limit|cap .. reached|exceeded|hit|exhausted
		daily|weekly|monthly|hourly|yearly limit|limits|quota|quotas|usage|cap|allowance|allocation
		daily|weekly|monthly|hourly token|tokens|request|requests|message|messages|prompt|credit limit|limits|quota|cap
		hour|hours|day limit|window|quota .. reached|exceeded|exhausted
		5h|7d|24h limit|usage|window|quota
		five|seven hour|day limit|usage|window|quota
		usage limit|limits .. reached|exceeded|exhausted|hit
		reached|exceeded|hit|exhausted ... usage limit|limits|quota|cap
		usage window|quota ... exhausted|reached|exceeded
		hit your .. limit
		reached your .. limit
		exhausted your capacity
		exhausted .. daily|weekly|monthly
		quota will reset
		limit will reset
		plan limit|limits .. reached|exceeded|exhausted
		session limit .. reached|exceeded
		message limit .. reached|exceeded
		premium request|requests ... limit|quota|allowance|exhausted|exceeded
		free models per day
		call volume quota
		monatliches|chentliches|gliches limit
		tageslimit|wochenlimit|monatslimit|nutzungslimit|kontingent .. erreicht|berschritten|aufgebraucht|ersch
		mite diario|semanal|mensual|mensal
		cuota .. agotada|excedida|superada
		quota .. puis
	`},
	{sig: sigTeamCap, phrases: `
		organization|organisation|org|workspace|team|project ... spend|spending|budget|usage limit|cap ... reached|exceeded|hit
		organization|organisation|org|workspace|team|project ... spend|spending|usage limit|cap
		reached|exceeded|exceeds|hit ... organization|organisation|org|workspace|team|project .. spend|spending|budget|usage limit|cap
		workspace|organization api usage limits
	`},
	{sig: sigSpendCap, phrases: `
		spend|spending limit|cap ... reached|exceeded|hit
		reached|exceeded|hit ... spend|spending limit|cap
		budget .. exceeded|exhausted|reached
		exceeded .. budget
		exceededtokenbudget|exceededbudget
	`},
	{sig: sigOverload, phrases: `
		too many connections
		overload|overloaded|overloading
		at|over .. capacity
		over capacity
		no .. capacity
		insufficient capacity
		not enough capacity
		capacity exceeded|constraints|constraint|constrained
		capacity is exceeded
		capacity temporarily exceeded
		out of capacity
		high demand|traffic|load
		heavy load|traffic
		server|servers|system|service|model|engine|backend .. busy
		too busy
		is busy
		worker local total request limit
		model .. not ready
		model ... is currently|still loading
		model is loading
		loading model
		model is warming
		queue .. full
		no available|healthy .. workers|servers|instances|replicas|slots
		peak load|hours|traffic
		scaling up
		scaled to zero
		berlastet|ausgelastet
		sobrecargado|sobrecargada|sobrecarregado
		servidor .. ocupado|saturado
		alta demanda
		sovraccarico
		surcharg
	`},
	{sig: sigDead, phrases: `
		key|account|organization|workspace ... has been disabled|deactivated|revoked|suspended|banned|terminated|blocked|deleted
		organization|organisation|org|workspace|account|project .. disabled|deactivated|suspended|banned|terminated|restricted|closed|deleted|locked|blocked
		organization|organisation|org|workspace|account|project has|have been .. disabled|deactivated|suspended|banned|terminated|restricted|closed|deleted|locked|blocked
		user .. deactivated|suspended|banned
		key|keys|credential|credentials .. disabled|deactivated|revoked|suspended|banned|deleted|leaked|compromised|blocked
		key|keys|credential|credentials has|have been .. disabled|deactivated|revoked|suspended|banned|deleted|leaked|compromised|blocked
		key .. reported as leaked
		reported as leaked
		consumer ... suspended
		token .. revoked
		token has been .. revoked
		token has been expired or revoked
		refresh token .. revoked|invalid|expired|invalidated
		access .. revoked|terminated
		revoked|disabled|deactivated|suspended|deleted api key
		disabled|deactivated|suspended|banned|terminated account|organization|workspace|user
		not allowed for this organization
		no longer a member
		permanently disabled|banned|suspended|blocked
		ssel|konto wurde|ist .. deaktiviert|gesperrt|widerrufen
		clave|cuenta ... revocada|suspendida|desactivada|bloqueada
		conta .. suspensa|desativada|bloqueada
		compte .. suspendu|sactiv|bloqu
	`},
	{sig: sigModel, phrases: `
		model .. deactivated|disabled
		model has been .. deactivated|disabled|removed
		must be verified to ... model
		supported api model names
		not available with ... plan
		marked by provider as legacy
		not a chat model
		model ... not found
		models ... not found
		model ... does not exist
		model ... doesn t exist
		model ... doesnt exist
		model .. not exist
		no such model
		unknown model
		invalid model
		invalid model name|id|identifier
		model identifier is invalid
		not a valid model
		model ... not|isn .. supported
		unsupported model
		model ... deprecated|retired|decommissioned|discontinued
		model ... no longer available|supported|exists
		model ... end of life
		model .. not loaded
		does not have access to .. model
		doesn t have access to .. model
		do not have access to .. model
		don t have access to .. model
		do not have access to it
		not have permission to access ... model
		not authorized|allowed|entitled|permitted to ... model
		no access to .. model
		access to .. model ... denied
		model access .. denied
		model .. not enabled|allowed|permitted|accessible|included
		not available in your plan|region|subscription
		plan does not ... model
		plan doesn t ... model
		deployment ... does not exist
		deployment .. not found
		no endpoints found
		no allowed providers
		no .. provider|providers|channel|channels .. available for .. model
		on demand throughput isn t supported
		on demand throughput is not supported
		inference profile that contains this model
		try pulling it first
		model ... blocked at the
		not work with the specified model
		not resolve .. foundation model
		blocked|banned|restricted|suspended|disabled from .. this|that model
		model ... was removed on
		code notfound desc
		modell ... nicht gefunden|vorhanden|verf
		modell ... existiert nicht
		unbekanntes modell
		modelo ... no|o existe|encontrado
		mod le ... introuvable
		mod le ... existe pas
	`},
	{sig: sigModel, only: familyBedrock, phrases: `
		operation not allowed
	`},
	{sig: sigRefusal, phrases: `
		content management policy
		content filter|filters|filtering|filtered
		content|usage policy violation
		content policy
		flagged as .. violating
		flagged for
		flagged by
		violates|violate|violating .. content|usage|acceptable|safety|our policy|policies|use
		violates|violate|violating our ... policy|policies
		output|response|request|prompt|input|content .. blocked by|due ... policy|filter|filters|safety|moderation|guardrail
		blocked by .. safety|content|moderation|guardrail|guardrails
		safety system|filter|filters|reasons|policy
		rejected ... safety
		prohibited content
		inappropriate content
		sensitive content|words
		contains .. sensitive
		input|output new_sensitive
		content exists risk
		considered high risk
		responsible ai
		guardrail .. intervened
		requires moderation
		model refused|declined to
		violates|violate|violating .. guideline|guidelines
	`},
	{sig: sigUnseen, phrases: `
		support|supports|supporting image|images|vision input|inputs
	`},
	{sig: sigFormat, phrases: `
		have non empty content
		expected thinking
		no tool output found
		no tool call found
		required following item
		should match pattern
		only user and assistant roles
		more assistant messages at the end
		tool_use ids
		tool_use_id
		tool_call_id|tool_call_ids
		tool_calls must be followed
		tool call id
		tool call ids
		tool_result block|blocks
		tool_use block|blocks
		function call|response turn
		function response parts
		signature in thinking block
		invalid signature in
		thought signature|signatures
		thought_signature
		thinking blocks
		redacted_thinking blocks
		assistant message prefill
		must end with a user message
		roles must alternate
		conversation roles
		messages ... alternate
		messages must not be empty
		at least one message is required
		text content blocks must
		must be non empty
		final assistant content
		last message must
		unexpected role
		invalid schema for function
		input_schema
		invalid .. tool|function .. schema|name|parameters
		maximum tokens you requested exceeds
		max_tokens .. too large
		supports at most # completion|output
		string does not match .. pattern
		invalid parameter|parameters
		parameter error
		parameters error
		unsupported parameter|value
		unrecognized request argument
		unknown parameter|field|name
		extra inputs are not permitted
		could not process image
		image exceeds
		invalid image
		invalid base64
		unsupported image
	`},
	{sig: sigAuth, phrases: `
		signing in again
		credential is only authorized
		invalid|incorrect|wrong|missing|bad|expired|malformed api key
		invalid|incorrect|wrong|missing|bad|expired api_key|apikey
		invalid|incorrect|wrong|missing|expired x api key
		invalid|expired|missing|bad|malformed token|credentials|credential|authentication|authorization|bearer
		invalid|expired access|bearer|auth|oauth|security|id token
		api key .. invalid|expired|incorrect|missing|required
		api key not valid|found|provided
		api key is not valid
		api key was not
		didn t provide an api key
		no api key
		no auth credentials
		no cookie auth
		token .. expired|invalid
		token has .. expired
		token could not be refreshed
		security token included ... expired|invalid
		refresh token was already used
		sign in again
		log in again
		login again
		please .. re authenticate|reauthenticate
		authentication failed|fails|error|required
		failed to authenticate
		not authenticated
		unauthenticated
		oauth authentication is
		user not found
		user location is not supported
		country region or territory .. not supported
		region .. not supported for
		ltiger|ltiges api|token
		api schl ssel .. ung|falsch|abgelaufen
		clave|chave .. api .. lida|incorrecta|incorreta
		cl .. api .. invalide|valide|incorrecte
		token inv lido
	`},
	{sig: sigExpired, phrases: `
		login|session|sign .. expired
		login|session has .. expired
		login|session .. no longer valid
	`},
	{sig: sigTransient, phrases: `
		internal server error
		internal error
		internal network failure
		unknown error
		520
		upstream error
		backend error
		server had an error
		unexpected error
		service .. unavailable
		bad gateway
	`},
	{sig: sigTimeout, phrases: `
		aborted
		terminated
		context|request|operation|call .. canceled|cancelled
		context cancellation
		stream|connection ended|closed without
		unexpected end of
		is not valid json
		unexpected token
		timeout|timeouts
		time out
		zeit berschreitung
		tiempo de espera
		tempo limite
		lai .. pass
		timed out
		timedout
		deadline exceeded
		context deadline
		request canceled client
		connection reset|refused|closed|aborted|terminated|error|lost|failed|timeout|dropped|termination
		connection was|is|has .. reset|refused|closed|aborted|lost|terminated
		reset by peer
		econnreset|econnrefused|econnaborted|etimedout|ehostunreach|enetunreach|enetdown|enotfound|eai_again|epipe|epipe
		und_err_socket|und_err_connect_timeout|und_err_headers_timeout|und_err_body_timeout
		err_stream_premature_close
		socket hang up
		socket closed
		premature close
		other side closed
		broken pipe
		no such host
		name or service not known
		temporary failure in name resolution
		getaddrinfo
		dns
		network error|unreachable|failure|issue
		network is unreachable
		no route to host
		fetch failed
		failed to fetch
		error trying to connect
		unable|failed to connect
		could not connect
		error sending request
		upstream connect error
		disconnect reset before headers
		stream disconnected
		stream ended|closed|interrupted before|unexpectedly
		tls handshake
		handshake error|failure|failed
		ssl error
		certificate verify failed
		failed to verify certificate
		certificate signed by unknown
		certificate .. expired|invalid
		eof
		aborterror
		incomplete chunked read
		peer closed
		server disconnected
		server closed idle
		code deadlineexceeded
		stream terminated by rst_stream
		stream error stream id
		goaway
		wrong version number
		readtimeout|connecttimeout|writetimeout|pooltimeout|sockettimeout|readerror|connecterror|remoteprotocolerror|clientconnectorerror
		remotedisconnected
	`},
	{sig: sigServer, phrases: `
		error occurred while processing your request
		system encountered an unexpected
		internal server error
		internal error
		internal_error
		internal failure
		server error
		server had an error
		bad gateway
		upstream error
		upstream_error
		backend error
		service .. unavailable
		gateway error
		unexpected error
		error during .. generation
		something went wrong
		out of memory
		unable to process your request
		more system memory
		cuda error
		llama runner process
		model runner has
		code unavailable|internal|dataloss|data_loss desc
		model has crashed
	`},
	{sig: sigLimited, phrases: `
		quota .. exceeded|exhausted|reached
		exceeded .. quota
		exceeded|reached ... limit|limits
		exceed ... rate|limit
		limit exceeded|reached
		limit .. has been reached|exceeded
		limit has been reached|exceeded
		limit is|was reached|exceeded
		too frequent
	`},
	{sig: sigDenied, phrases: `
		unauthorized|forbidden
		access denied
		permission denied
		not authorized
		not permitted
		request not allowed
		authentication
		do not have permission
		don t have permission
		not have access
		no permission
		code permissiondenied
	`},
	{sig: sigNotFound, phrases: `
		model|models ... not|isn .. available
		model|models .. unavailable
		not found
		no longer available
		does not exist
	`},
	{sig: sigInvalid, phrases: `
		invalid request
		bad request
		malformed request|json|input
		validation error
		unprocessable entity
		invalid argument
		field required
		code invalidargument|failedprecondition|outofrange
		schema
	`},
	{sig: sigAccount, phrases: `
		usage limit|limits
		account s rate
		account|organization s .. limit
		organization tpd|tpm|rpm|rpd
		hit your limit
		free models per day
		concurrency|concurrent
		workers_ai
		quota limit exceeded
		number of copilot
		all models
		team s
	`},
	{sig: sigThisModel, phrases: `
		for model
		per model
		this|that model
		for .. model
		on this model
		for gpt*
	`},
}
