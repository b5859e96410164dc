package main

// usage is what "understudy help" prints.
const usage = `understudy answers on Discord and Slack, whoever fails.

  understudy chat                 talk in the terminal; needs no key and no network
  understudy run                  answer on Discord and Slack
  understudy auth clear PROFILE   lift the blocks of a credential, also while run is up
  understudy pairing list|approve CODE|revoke PLATFORM:USER
                                  who may write to the bot directly, also while run is up
  understudy sessions list|export KEY|forget PLATFORM:USER
                                  read conversations, and delete what is stored about somebody
  understudy check                say which models and credentials a message would be answered by
  understudy explain TURN         tell the decisions of a turn; or, with --if A=KIND,…, what would happen
  understudy classify             say what an error of a provider, on standard input, is put down to
  understudy store check|backup [FILE]|vacuum
                                  examine the database, copy it, or make it smaller
  understudy slack manifest       print the app manifest to paste into Slack
  understudy health               ask a running bot whether it is ready
  understudy version              say which program this is
  understudy help                 print this

“understudy chat -m TEXT” says one thing and prints the answer; “understudy COMMAND -h” lists the
flags of a command. Settings: docs/configuration.md.
`
