package main

// usage is what "understudy help" prints.
const usage = `understudy answers on Discord and Slack, whoever fails.

  understudy chat                    talk in the terminal; needs no key and no network
  understudy chat -m TEXT [--json]   say one thing and print what happens
  understudy run                     answer on Discord and Slack
  understudy auth clear PROFILE      lift the blocks of a credential, also while run is up
  understudy check                   say which models and credentials a message would be answered by
  understudy explain TURN            tell the decisions of a turn, or what would happen
  understudy explain --if A=KIND,…   if providers failed
  understudy classify                say what an error of a provider, on standard input, is put down to
  understudy slack manifest          print the app manifest to paste into Slack
  understudy health                  ask a running bot whether it is ready
  understudy version

Flags of a command: understudy COMMAND -h. Settings: docs/configuration.md.
`
