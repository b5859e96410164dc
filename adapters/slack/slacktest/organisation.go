package slacktest

// authTest is auth.test. For an app of a whole organisation the team is no
// workspace.
func (s *Server) authTest(args) reply {
	v := reply{"url": "https://fake.slack.invalid/", "team": "Fake", "user": "understudy", "team_id": Team, "user_id": s.cfg.BotUser, "bot_id": s.cfg.BotID, "is_enterprise_install": s.cfg.OrgWide}
	if s.cfg.Organisation != "" {
		v["enterprise_id"] = s.cfg.Organisation
	}
	if s.cfg.OrgWide {
		v["team_id"] = s.cfg.Organisation
	}
	return v
}

// Uninstall takes the app out of the workspace: it is told, and its tokens are
// good for nothing any more.
func (s *Server) Uninstall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = "account_inactive"
	s.emit(map[string]any{"type": "tokens_revoked", "event_ts": s.stamp(), "tokens": map[string]any{"oauth": []string{}, "bot": []string{s.cfg.BotUser}}})
	s.emit(map[string]any{"type": "app_uninstalled", "event_ts": s.stamp()})
	s.touch()
}

// RateLimit tells the app that events of its workspace are held back for a
// minute.
func (s *Server) RateLimit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.send(&envelope{kind: "events_api", payload: map[string]any{"type": "app_rate_limited", "token": "unused", "team_id": Team, "api_app_id": App, "minute_rate_limited": s.now().Unix()}})
	s.touch()
}

// OpenAssistant is a person opening a new thread in the assistant view of a
// direct message. It returns the thread's timestamp.
func (s *Server) OpenAssistant(channel, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	root := &Message{Channel: channel, TS: s.stamp(), User: s.cfg.BotUser, BotID: s.cfg.BotID, Subtype: "assistant_app_thread", Text: "New Assistant Thread"}
	root.ThreadTS = root.TS
	p.add(root)
	s.emit(map[string]any{"type": "assistant_thread_started", "event_ts": s.stamp(), "assistant_thread": map[string]any{
		"user_id": user, "channel_id": channel, "thread_ts": root.TS, "context": map[string]any{"channel_id": Channel, "team_id": Team, "enterprise_id": nil},
	}})
	s.touch()
	return root.TS
}

// StopSession is a person pressing Slack's own stop button beside an answer.
func (s *Server) StopSession(channel, root, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(map[string]any{"type": "agent_session_stopped", "event_ts": s.stamp(), "channel": channel, "thread_ts": root, "user": user, "streaming_message_ts": []string{}})
	s.touch()
}
