package llm

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Pages, finish reasons, and texts without spaces between words.

// isPage reports whether s is an HTML page, maybe behind a status.
func isPage(s string) bool {
	if len(s) > 3 && s[0] >= '4' && s[0] <= '5' && s[3] == ' ' {
		s = strings.TrimLeft(s[3:], " ")
	}
	if len(s) < 6 || s[0] != '<' {
		return false
	}
	head := lower(s[:min(len(s), 512)])
	return strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html") || strings.Contains(head, "<html") || strings.HasPrefix(head, "<head")
}

// challengeMarks show that an edge wants to see a browser; the credential was
// never looked at.
var challengeMarks = []string{
	"just a moment", "challenges.cloudflare.com", "cf-browser-verification", "cf-challenge", "cf_chl", "verify you are human", "attention required",
}

// readPage takes the status and the title of a page, and nothing else: its words
// are those of an edge, not of the provider.
func (ev *evidence) readPage(s string) {
	ev.page = true
	low := lower(s[:min(len(s), 16<<10)])
	for _, mark := range challengeMarks {
		if strings.Contains(low, mark) {
			ev.challenge = true
			break
		}
	}
	if _, rest, ok := strings.Cut(low, "<title>"); ok {
		title, _, _ := strings.Cut(rest, "</title>")
		at := len(low) - len(rest)
		if title = strings.TrimSpace(s[at : at+len(title)]); title != "" && len(ev.texts) < maxTexts {
			ev.texts = append(ev.texts, title)
		}
		ev.statusIn(title)
	}
	ev.statusIn(s[:min(len(s), 4)])
}

// statusIn looks for a status that stands alone in s.
func (ev *evidence) statusIn(s string) {
	digits := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] >= '0' && s[i] <= '9' {
			digits++
			continue
		}
		if digits == 3 {
			if n := statusOf(s[i-3 : i]); n != 0 {
				ev.sawStatus(n, 1)
			}
		}
		digits = 0
	}
}

// finishes are the finish reasons that mean a failure.
var finishes = map[string]Reason{
	"abort": Timeout, "network_error": Timeout, "malformed_response": Timeout,

	"error": ServerError, "error_finish": ServerError, "malformed_function_call": ServerError,
	"unexpected_tool_call": ServerError, "too_many_tool_calls": ServerError,
	"malformed_model_output": ServerError, "malformed_tool_use": ServerError,

	"insufficient_system_resource": Overloaded,

	"content_filter": Refusal, "content_filtered": Refusal, "refusal": Refusal, "safety": Refusal, "sensitive": Refusal,
	"prohibited_content": Refusal, "blocklist": Refusal, "spii": Refusal, "recitation": Refusal,
	"image_safety": Refusal, "image_prohibited_content": Refusal, "guardrail_intervened": Refusal,

	"model_context_window_exceeded": ContextOverflow, "context_length_exceeded": ContextOverflow, "context_window_exceeded": ContextOverflow,
}

// finishBehind takes "finish_reason: error" and its relatives out of a sentence:
// name is the word before the colon, rest what follows it.
func (ev *evidence) finishBehind(name, rest string) {
	if len(name) < 6 || !strings.EqualFold(name[len(name)-6:], "reason") {
		return
	}
	rest = strings.TrimLeft(rest[:min(len(rest), 64)], "\"'` ")
	end := 0
	for end < len(rest) && isLetter(rest[end]) {
		end++
	}
	if _, ok := finishes[lower(rest[:end])]; ok {
		ev.finish = rest[:end]
	}
}

// chinese holds phrases of languages that do not part words, or not as English
// does: Chinese, Japanese and Korean. They are searched as they stand.
var chinese = []struct {
	sig     signal
	phrases []string
}{
	{sigBroke, []string{"余额不足", "欠费", "余额已用", "账户余额", "额度已用完", "额度不足", "额度已用尽", "无可用资源包", "资源包已用", "余额为", "已停机", "余量已用", "余量不足", "残高が不足", "残高不足", "残高がありません", "クレジットが不足", "クレジットがありません", "クレジットを使い切", "잔액이 부족", "잔액 부족", "크레딧이 부족", "크레딧을 모두"}},
	{sigPay, []string{"充值", "续费", "请购买", "请付费", "请缴费", "前往购买", "チャージして", "お支払い方法", "支払い方法", "충전"}},
	{sigOverflow, []string{"上下文长度", "上下文窗口", "输入过长", "输入长度", "超过最大长度", "超出最大长度", "超过模型最大", "超出模型最大", "内容过长", "超长", "输入的tokens", "最大上下文", "tokens总数", "コンテキスト長", "コンテキストウィンドウ", "入力が長すぎ", "プロンプトが長すぎ", "最大トークン数を超", "컨텍스트 길이", "입력이 너무"}},
	{sigWindow, []string{"使用上限", "限额", "每日上限", "每周上限", "每月上限", "使用限制", "调用次数已达", "今日调用", "次数已用完", "小时的使用", "用量已达", "已达上限", "达到上限", "利用上限", "使用量の上限", "日の上限"}},
	{sigReset, []string{"重置", "后恢复", "リセットされ"}},
	{sigWait, []string{"稍后重试", "稍后再试", "请稍后", "请稍候", "しばらくして", "しばらく待って", "後に再試行", "後に再度", "後にもう一度", "다시 시도"}},
	{sigOverload, []string{"访问量过大", "服务繁忙", "系统繁忙", "服务器繁忙", "模型繁忙", "负载", "过载", "拥挤", "算力不足", "资源不足", "高峰", "正忙", "混雑", "混み合", "過負荷", "과부하", "혼잡"}},
	{sigThrottle, []string{"速率限制", "请求过于频繁", "频率", "并发", "限流", "请求过多", "请求次数过多", "调用过快", "请求太频繁", "过于频繁", "请求限制", "リクエストが多すぎ", "リクエスト数", "レート制限", "同時リクエスト", "요청이 너무", "요청 한도"}},
	{sigDead, []string{"已被禁用", "已被封禁", "已禁用", "已封禁", "账号被封", "账户被冻结", "账户已被冻结", "已被冻结", "已注销", "已吊销", "被停用", "已停用", "已锁定", "已被锁定", "アカウントが停止", "アカウントは停止", "계정이 정지"}},
	{sigModel, []string{"模型不存在", "模型未找到", "不支持该模型", "模型不可用", "未找到模型", "无权访问该模型", "无权使用模型", "没有权限访问模型", "模型已下线", "模型已下架", "无可用渠道", "モデルが見つかり", "モデルは見つかり", "モデルが存在し", "モデルは存在し", "モデルは利用でき", "モデルを利用する権限", "모델을 찾을 수"}},
	{sigRefusal, []string{"敏感内容", "敏感词", "不安全", "内容安全", "违规", "违反", "审核未通过", "风险内容", "拒绝回答", "不適切な", "ポリシーに違反"}},
	{sigAuth, []string{"身份验证失败", "令牌", "认证失败", "鉴权失败", "密钥无效", "无效的key", "无效的api", "未授权", "密钥错误", "密钥已过期", "key已过期", "验证不通过", "キーが無効", "キーが正しく", "認証に失敗", "認証エラー", "키가 유효하지", "키가 잘못", "인증에 실패"}},
	{sigFormat, []string{"参数错误", "参数有误", "请求参数", "参数不合法", "格式错误"}},
	{sigTimeout, []string{"超时", "连接失败", "网络错误", "タイムアウト"}},
	{sigServer, []string{"内部错误", "服务异常", "系统异常", "服务器错误", "未知错误", "内部エラー", "サーバーエラー"}},
}

type chinesePhrase struct {
	sig  signal
	text string
}

var chineseIndex = sync.OnceValue(func() map[rune][]chinesePhrase {
	x := make(map[rune][]chinesePhrase, 128)
	for _, row := range chinese {
		for _, p := range row.phrases {
			first, _ := utf8.DecodeRuneInString(p)
			x[first] = append(x[first], chinesePhrase{row.sig, p})
		}
	}
	return x
})

// firstChinese is the least first byte of a Chinese character in UTF-8.
const firstChinese = 0xe3

// lastChinese is the greatest, of a Korean one.
const lastChinese = 0xed

// matchChinese sets the signals of Chinese phrases.
func (ev *evidence) matchChinese(s string) {
	for i := 0; i < len(s); {
		if s[i] < firstChinese || s[i] > lastChinese {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		for _, p := range chineseIndex()[r] {
			if strings.HasPrefix(s[i:], p.text) {
				ev.set(p.sig, p.text)
			}
		}
		i += n
	}
}
