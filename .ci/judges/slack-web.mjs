// @slack/web-api and @slack/socket-mode, unchanged from npm, judge the fake
// Slack.
import assert from 'node:assert/strict';
import { SocketModeClient } from '@slack/socket-mode';
import { LogLevel, WebClient } from '@slack/web-api';
import { heard, open, play, refused, until, within } from './world.mjs';

const [channel, direct, ann, ben] = ['C0CHAN', 'D0DM', 'U0USER', 'U0OTHER'];
const w = await open();
const options = { slackApiUrl: w.slack, retryConfig: { retries: 0 }, logLevel: LogLevel.ERROR };
const web = new WebClient(w.env.UNDERSTUDY_SLACK_BOT_TOKEN, { ...options, rejectRateLimitedCalls: true });
const socket = new SocketModeClient({ appToken: w.env.UNDERSTUDY_SLACK_APP_TOKEN, clientOptions: options, logLevel: LogLevel.ERROR });
const say = (text, more = {}) => w.post('/say', { platform: 'slack', channel, text, ...more });
const code = async (promise) => (await refused(promise)).data?.error;
const long = (n) => 'x'.repeat(n);
let me, said, post, reply;

// event is the next event that passes the test; all are acknowledged.
socket.on('slack_event', ({ ack }) => ack());
function event(type, test = () => true) {
  const coming = heard(socket, 'slack_event', ({ body }) => body.event?.type === type && test(body.event));
  return within(type, coming.then(({ body }) => body));
}

await play('@slack/web-api', {
  async 'it tests its tokens'() {
    me = await web.auth.test();
    assert.deepEqual([me.team_id, me.user_id, me.bot_id], ['T0TEAM', 'U0BOT', 'B0BOT']);
    assert.ok(me.response_metadata.scopes.includes('chat:write'));
    assert.equal(await code(new WebClient('xoxb-wrong', options).auth.test()), 'invalid_auth');
    assert.equal(await code(new WebClient(undefined, options).auth.test()), 'not_authed');
    assert.equal(await code(web.apps.connections.open()), 'not_allowed_token_type');
    assert.equal(await code(web.apiCall('no.such.method')), 'unknown_method');
  },
  async 'the socket opens'() {
    await socket.start();
    assert.equal(socket.websocket.isActive(), true);
  },
  async 'it hears a mention twice, with one timestamp'() {
    const [message, mention] = [event('message'), event('app_mention')];
    said = await say('@understudy good evening');
    const [a, b] = [await message, await mention];
    assert.deepEqual([a.event.ts, b.event.ts], [said.id, said.id]);
    assert.notEqual(a.event_id, b.event_id);
    assert.equal(a.event.text, '<@U0BOT> good evening');
    assert.deepEqual([a.event.channel_type, b.event.channel_type], ['channel', undefined]);
    assert.equal(a.authorizations[0].user_id, me.user_id);
  },
  async 'it answers in the thread'() {
    const echo = event('message', (e) => e.bot_id === me.bot_id);
    post = await web.chat.postMessage({ channel, thread_ts: said.id, text: 'good evening, Ann', unfurl_links: false });
    assert.equal(post.message.thread_ts, said.id);
    assert.equal((await echo).event.ts, post.ts);
    reply = await web.chat.postMessage({
      channel, thread_ts: said.id, text: 'small print', blocks: [{ type: 'context', elements: [{ type: 'mrkdwn', text: 'small print' }] }],
      metadata: { event_type: 'post', event_payload: { key: 'k1' } },
    });
    assert.equal(reply.message.blocks[0].type, 'context');
  },
  async 'it changes a message and hears of it'() {
    const echo = event('message', (e) => e.subtype === 'message_changed' && e.message.ts === post.ts);
    const changed = await web.chat.update({ channel, ts: post.ts, text: 'good evening, dear Ann' });
    assert.equal(changed.text, 'good evening, dear Ann');
    assert.equal((await echo).event.message.text, 'good evening, dear Ann');
    assert.equal(await code(web.chat.update({ channel, ts: said.id, text: 'not mine' })), 'cant_update_message');
    assert.equal(await code(web.chat.update({ channel, ts: '1.000001', text: 'nobody’s' })), 'message_not_found');
  },
  async 'limits are Slack’s'() {
    assert.equal(await code(web.chat.postMessage({ channel, text: '' })), 'no_text');
    assert.equal(await code(web.chat.postMessage({ channel, text: long(40001) })), 'msg_too_long');
    assert.equal(await code(web.chat.update({ channel, ts: post.ts, text: long(4001) })), 'msg_too_long');
    assert.equal(await code(web.chat.postMessage({ channel: 'C0NONE', text: 'x' })), 'channel_not_found');
    assert.equal(await code(web.chat.postMessage({ channel, thread_ts: '1.000001', text: 'x' })), 'thread_not_found');
    const section = (n) => ({ type: 'section', text: { type: 'mrkdwn', text: long(n) } });
    const blocks = (...all) => web.chat.postMessage({ channel, text: 'x', blocks: all });
    assert.equal(await code(blocks(section(3001))), 'invalid_blocks');
    assert.match(await code(blocks(...Array.from({ length: 51 }, () => section(1)))), /^invalid_blocks/);
    assert.equal(await code(blocks(...Array.from({ length: 5 }, () => section(2700)))), 'msg_blocks_too_long');
    assert.equal(await code(blocks({ type: 'markdown', text: long(12001) })), 'msg_blocks_too_long');
    const button = (id) => ({ type: 'button', text: { type: 'plain_text', text: 'b' }, action_id: id });
    assert.equal(await code(blocks({ type: 'actions', elements: [button('same'), button('same')] })), 'invalid_blocks');
    const option = (i) => ({ text: { type: 'plain_text', text: `${i}` }, value: `${i}` });
    const menu = (n) => ({ type: 'actions', elements: [{ type: 'static_select', action_id: 'm', placeholder: { type: 'plain_text', text: 'p' }, options: Array.from({ length: n }, (_, i) => option(i)) }] });
    assert.equal(await code(blocks(menu(101))), 'invalid_blocks');
    assert.ok((await blocks(menu(100))).ts);
  },
  async 'it speaks to one person alone'() {
    const alone = await web.chat.postEphemeral({ channel, user: ann, thread_ts: said.id, text: 'between us' });
    assert.ok(alone.message_ts);
    const last = (await w.get('/slack/responses')).at(-1);
    assert.deepEqual([last.Text, last.User, last.Ephemeral, last.Root], ['between us', ann, true, said.id]);
    assert.equal(await code(web.chat.update({ channel, ts: alone.message_ts, text: 'x' })), 'message_not_found');
  },
  async 'it reads threads and channels'() {
    const thread = await web.conversations.replies({ channel, ts: said.id, include_all_metadata: true });
    assert.deepEqual(thread.messages.map((m) => m.ts), [said.id, post.ts, reply.ts]);
    assert.equal(thread.messages[0].thread_ts, said.id);
    assert.equal(thread.messages[0].reply_count, 2);
    assert.equal(thread.messages[1].parent_user_id, ann);
    assert.equal(thread.messages[2].metadata.event_payload.key, 'k1');
    assert.deepEqual((await web.conversations.replies({ channel, ts: post.ts })).messages.map((m) => m.ts), [post.ts]);
    const history = await web.conversations.history({ channel, limit: 1 });
    assert.equal(history.messages.length, 1);
    assert.equal(history.has_more, true);
    const seen = [];
    for await (const page of web.paginate('conversations.history', { channel, limit: 1 })) seen.push(...page.messages);
    assert.ok(seen.some((m) => m.ts === said.id) && !seen.some((m) => m.ts === post.ts));
  },
  async 'it looks people and places up'() {
    assert.equal((await web.users.info({ user: ann })).user.profile.display_name, 'Ann');
    assert.equal(await code(web.users.info({ user: 'U0NONE' })), 'user_not_found');
    const info = await web.conversations.info({ channel });
    assert.deepEqual([info.channel.name, info.channel.is_member], ['general', true]);
    assert.equal((await web.conversations.info({ channel: direct })).channel.is_im, true);
    assert.equal((await web.conversations.open({ users: ann })).channel.id, direct);
    assert.ok((await web.conversations.list({ types: 'public_channel' })).channels.some((c) => c.id === channel));
    assert.ok((await web.conversations.members({ channel })).members.includes(me.user_id));
    assert.equal((await web.bots.info({ bot: me.bot_id })).bot.user_id, me.user_id);
  },
  async 'it reacts'() {
    await web.reactions.add({ channel, timestamp: said.id, name: 'eyes' });
    assert.equal(await code(web.reactions.add({ channel, timestamp: said.id, name: 'eyes' })), 'already_reacted');
    await web.reactions.remove({ channel, timestamp: said.id, name: 'eyes' });
    assert.equal(await code(web.reactions.remove({ channel, timestamp: said.id, name: 'eyes' })), 'no_reaction');
  },
  async 'a status shows until a post'() {
    await web.assistant.threads.setStatus({ channel_id: channel, thread_ts: said.id, status: 'is thinking', loading_messages: ['one moment'] });
    const status = async () => (await w.get(`/slack/status?channel=${channel}&thread=${said.id}`)).status;
    assert.equal(await status(), 'is thinking');
    await web.chat.postMessage({ channel, thread_ts: said.id, text: 'done' });
    assert.equal(await status(), '');
    assert.equal(await code(web.assistant.threads.setStatus({ channel_id: channel, thread_ts: '1.000001', status: 'x' })), 'thread_not_found');
  },
  async 'the assistant view has titles and prompts'() {
    const opener = await say('hello', { channel: direct });
    await web.assistant.threads.setTitle({ channel_id: direct, thread_ts: opener.id, title: 'An evening' });
    await web.assistant.threads.setSuggestedPrompts({
      channel_id: direct, thread_ts: opener.id, prompts: [{ title: 'Sing', message: 'Sing me something' }],
    });
  },
  async 'an answer streams'() {
    const stream = web.chatStream({ channel, thread_ts: said.id, recipient_user_id: ann, recipient_team_id: me.team_id, buffer_size: 8 });
    await stream.append({ markdown_text: '**To be**, or ' });
    await stream.append({ markdown_text: 'not to be' });
    const end = await stream.stop({ markdown_text: '.' });
    const stands = (await w.get(`/posts?platform=slack&channel=${channel}&thread=${said.id}`)).at(-1);
    assert.equal(stands.id, end.ts ?? stream.ts);
    assert.equal(stands.text, '**To be**, or not to be.');
    assert.equal(await code(web.chat.appendStream({ channel, ts: stream.ts, markdown_text: 'x' })), 'message_not_in_streaming_state');
    assert.equal(await code(web.chat.stopStream({ channel, ts: post.ts })), 'message_not_in_streaming_state');
  },
  async 'a stream needs to know for whom it is'() {
    const start = (more) => web.apiCall('chat.startStream', { channel, thread_ts: said.id, ...more });
    assert.equal(await code(start({ recipient_user_id: ann })), 'missing_recipient_team_id');
    assert.equal(await code(start({ recipient_team_id: me.team_id })), 'missing_recipient_user_id');
    const opened = await start({ recipient_user_id: ann, recipient_team_id: me.team_id, markdown_text: 'short' });
    assert.equal(await code(web.chat.appendStream({ channel, ts: opened.ts, markdown_text: long(12001) })), 'msg_too_long');
    await web.chat.stopStream({ channel, ts: opened.ts });
  },
  async 'a file goes up in three steps'() {
    const shared = event('message', (e) => e.subtype === 'file_share');
    const up = await web.filesUploadV2({ channel_id: channel, thread_ts: said.id, initial_comment: 'the line', file: Buffer.from('To be.\n'), filename: 'line.txt' });
    const file = up.files[0].files[0];
    assert.equal(file.id.startsWith('F'), true);
    const told = (await shared).event;
    assert.deepEqual([told.files[0].id, told.files[0].size, told.thread_ts], [file.id, 7, said.id]);
    const info = (await web.files.info({ file: file.id })).file;
    assert.equal(info.name, 'line.txt');
    const down = await fetch(info.url_private_download, { headers: { authorization: `Bearer ${w.env.UNDERSTUDY_SLACK_BOT_TOKEN}` } });
    assert.equal(await down.text(), 'To be.\n');
    const stranger = await fetch(info.url_private_download);
    assert.match(await stranger.text(), /<html/i, 'without the token there is a sign-in page');
    assert.equal(await code(web.files.completeUploadExternal({ files: [{ id: 'F0NONE', title: 'x' }], channel_id: channel })), 'file_not_found');
  },
  async 'a command, a view, and what was written into it'() {
    const slashed = heard(socket, 'slash_commands');
    const command = await w.post('/slack/slash', { channel, user: ann, command: '/model', text: 'lead/actor' });
    const { ack, body } = await slashed;
    assert.deepEqual([body.command, body.text, body.trigger_id], ['/model', 'lead/actor', command.trigger]);
    await ack();
    const view = (title) => ({
      type: 'modal', callback_id: 'form', title: { type: 'plain_text', text: title }, submit: { type: 'plain_text', text: 'Send' }, private_metadata: 'thread-1',
      blocks: [{ type: 'input', block_id: 'why', label: { type: 'plain_text', text: 'Why?' }, element: { type: 'plain_text_input', action_id: 'text' } }],
    });
    assert.equal(await code(web.views.open({ trigger_id: 'none', view: view('x') })), 'invalid_trigger_id');
    const opened = (await web.views.open({ trigger_id: body.trigger_id, view: view('A form') })).view;
    assert.equal(opened.private_metadata, 'thread-1');
    assert.match(await code(web.views.open({ trigger_id: body.trigger_id, view: view('again') })), /trigger/);
    const updated = (await web.views.update({ view_id: opened.id, hash: opened.hash, view: view('Another') })).view;
    assert.equal(await code(web.views.update({ view_id: opened.id, hash: opened.hash, view: view('late') })), 'hash_conflict');
    assert.match(await code(web.views.update({ view_id: opened.id, view: view(long(25)) })), /invalid_arguments|view_/);
    const submitted = heard(socket, 'interactive');
    await w.post('/slack/submit', { view: updated.id, block: 'why', action: 'text', text: 'because' });
    const sent = await submitted;
    assert.equal(sent.body.type, 'view_submission');
    assert.equal(sent.body.view.state.values.why.text.value, 'because');
    assert.equal(sent.body.view.private_metadata, 'thread-1');
    await sent.ack();
  },
  async 'an answer through a response URL'() {
    const slashed = heard(socket, 'slash_commands');
    await w.post('/slack/slash', { channel, user: ben, command: '/help', text: '' });
    const { ack, body } = await slashed;
    await ack({ text: 'in the ack' });
    const send = (text) => fetch(body.response_url, { method: 'POST', body: JSON.stringify({ text }), headers: { 'content-type': 'application/json' } });
    for (let i = 1; i <= 5; i++) assert.equal((await send(`answer ${i}`)).status, 200);
    assert.equal((await send('answer 6')).status, 404);
    assert.ok((await w.get('/slack/responses')).some((r) => r.Text === 'answer 5' && r.User === ben));
  },
  async 'a limit is told'() {
    await w.post('/fault', { platform: 'slack', request: 'chat.postMessage', retryAfter: 3 });
    const error = await refused(web.chat.postMessage({ channel, text: 'x' }));
    assert.deepEqual([error.code, error.retryAfter], ['slack_webapi_rate_limited_error', 3]);
    const patient = new WebClient(w.env.UNDERSTUDY_SLACK_BOT_TOKEN, { ...options, retryConfig: { retries: 1 } });
    await w.post('/fault', { platform: 'slack', request: 'chat.postMessage', retryAfter: 1 });
    assert.ok((await patient.chat.postMessage({ channel, text: 'patience' })).ts);
  },
  async 'it deletes, and hears of it'() {
    const gone = event('message', (e) => e.subtype === 'message_deleted' && e.deleted_ts === post.ts);
    await web.chat.delete({ channel, ts: post.ts });
    await gone;
    assert.equal(await code(web.chat.delete({ channel, ts: post.ts })), 'message_not_found');
    assert.equal(await code(web.chat.delete({ channel, ts: said.id })), 'cant_delete_message');
  },
  async 'a missing scope is named'() {
    await w.post('/slack/scopes', { without: ['users:read'] });
    const error = await refused(web.users.info({ user: ann }));
    assert.deepEqual([error.data.error, error.data.needed], ['missing_scope', 'users:read']);
    await w.post('/slack/scopes', {});
    await web.users.info({ user: ann });
  },
  async 'what is not acknowledged comes again'() {
    const got = [];
    socket.removeAllListeners('slack_event');
    socket.on('slack_event', ({ ack, body, retry_num: retry }) => {
      if (body.event?.text !== 'do you hear me?') return ack();
      got.push(retry);
      return got.length > 1 ? ack() : undefined;
    });
    await say('do you hear me?');
    await until('the second delivery', () => got.length === 2);
    assert.deepEqual(got, [0, 1]);
  },
  'a socket that must go is replaced': () => replaced('refresh_requested'),
  'a socket that is told to go soon is replaced': () => replaced('warning'),
  'a socket that broke is replaced': () => replaced('drop'),
  'the socket closes': () => socket.disconnect(),
});

// replaced ends the connection and wants the next one to hear what is said.
async function replaced(how) {
  const connected = heard(socket, 'connected');
  await w.post('/slack/break', { how });
  await connected;
  const coming = event('message', (e) => e.text === `after ${how}`);
  await say(`after ${how}`);
  await coming;
}
