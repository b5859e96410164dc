// @slack/bolt, unchanged from npm, judges the fake Slack: the same app once
// through Socket Mode and once as an HTTP receiver.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import bolt from '@slack/bolt';
import { open, play, until, within } from './world.mjs';

const { App, Assistant, LogLevel } = bolt;
const [channel, direct, ann] = ['C0CHAN', 'D0DM', 'U0USER'];

// freePort is one that nobody listens on now.
const freePort = () => new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});

// build makes the app. What its listeners see is in heard, by name.
function build(w, receiving) {
  const heard = {};
  const note = (name, what) => (heard[name] ??= []).push(what);
  const app = new App({
    token: w.env.UNDERSTUDY_SLACK_BOT_TOKEN, clientOptions: { slackApiUrl: w.slack, retryConfig: { retries: 0 } }, logLevel: LogLevel.ERROR, ...receiving,
  });
  app.error(async (error) => note('error', error.message));
  app.event('app_mention', async ({ event, say }) => {
    note('mention', event);
    await say({ text: 'you called', thread_ts: event.ts });
  });
  app.message('ping', async ({ message, say, client }) => {
    note('message', message);
    const { ts } = await say('pong');
    await client.chat.update({ channel: message.channel, ts, text: 'pong!' });
    await client.chat.postEphemeral({ channel: message.channel, user: message.user, text: 'psst' });
  });
  app.command('/model', async ({ command, ack, respond, client }) => {
    note('command', command);
    await ack({ text: `one moment, ${command.text}` });
    await respond({ text: 'chosen', response_type: 'in_channel' });
    await client.views.open({
      trigger_id: command.trigger_id,
      view: {
        type: 'modal', callback_id: 'form', title: { type: 'plain_text', text: 'A form' }, submit: { type: 'plain_text', text: 'Send' },
        blocks: [{ type: 'input', block_id: 'why', label: { type: 'plain_text', text: 'Why?' }, element: { type: 'plain_text_input', action_id: 'text' } }],
      },
    }).then(({ view }) => note('view', view));
  });
  app.action('pick', async ({ action, ack, respond }) => {
    note('action', action);
    await ack();
    await respond({ text: `picked ${action.value ?? action.selected_option.value}`, replace_original: true });
  });
  app.options('many', async ({ payload, ack }) => {
    note('options', payload);
    await ack({ options: [{ text: { type: 'plain_text', text: 'one' }, value: '1' }] });
  });
  app.view('form', async ({ view, ack }) => {
    note('submission', view);
    await ack(view.state.values.why.text.value === 'because' ? {} : { response_action: 'errors', errors: { why: 'say because' } });
  });
  app.shortcut('status', async ({ shortcut, ack, respond }) => {
    note('shortcut', shortcut);
    await ack();
    await respond({ text: 'all is well' });
  });
  app.assistant(new Assistant({
    threadStarted: async ({ event, setSuggestedPrompts, saveThreadContext }) => {
      note('started', event);
      await saveThreadContext();
      await setSuggestedPrompts({ prompts: [{ title: 'Sing', message: 'Sing!' }] });
    },
    userMessage: async ({ message, setStatus, setTitle, say }) => {
      note('assistant', message);
      await setStatus('is singing');
      await setTitle('A song');
      await say('la la la');
    },
  }));
  return { app, heard };
}

// script is what happens to the app, whichever way it listens.
function script(kind, w, { app, heard }, begin) {
  const say = (text, more = {}) => w.post('/say', { platform: 'slack', channel, text, ...more });
  const told = (name, n = 1) => until(`${name} (${heard.error ?? 'no error'})`, () => heard[name]?.length >= n && heard[name][n - 1]);
  const posts = (at, ok) => until('a post', async () => {
    const all = await w.get(`/posts?platform=slack&channel=${at.channel}&thread=${at.thread ?? ''}`);
    return all.find(ok);
  });
  const responses = (ok) => until('a response', async () => (await w.get('/slack/responses')).find(ok));
  const steps = {
    'it starts': begin,
    async 'a mention is answered in its thread'() {
      const said = await say('@understudy hello');
      assert.equal((await told('mention')).ts, said.id);
      await posts(said, (p) => p.text === 'you called');
    },
    async 'a message is answered, and the answer changed'() {
      const said = await say('ping', { channel: direct });
      assert.equal((await told('message')).channel_type, 'im');
      await posts({ channel: said.channel }, (p) => p.text === 'pong!');
      await responses((r) => r.Text === 'psst' && r.User === ann);
    },
    async 'its own posts are no messages'() {
      await say('ping', { channel: direct });
      await told('message', 2);
      assert.equal(heard.message.length, 2);
    },
    async 'a command is acknowledged, answered, and opens a view'() {
      const { envelope } = await w.post('/slack/slash', { channel, user: ann, command: '/model', text: 'lead/actor' });
      assert.equal((await told('command')).text, 'lead/actor');
      await told('view');
      assert.equal((await w.get(`/slack/ack?envelope=${envelope}`)).text, 'one moment, lead/actor');
      await responses((r) => r.Text === 'chosen' && !r.Ephemeral);
    },
    async 'a form is sent, refused and sent again'() {
      const { id } = heard.view[0];
      const no = await w.post('/slack/submit', { view: id, block: 'why', action: 'text', text: 'no' });
      await told('submission', 1);
      const ack = await until('the errors', async () => {
        const a = await w.get(`/slack/ack?envelope=${no.envelope}`);
        return a.response_action && a;
      });
      assert.deepEqual(ack, { response_action: 'errors', errors: { why: 'say because' } });
      await w.post('/slack/submit', { view: id, block: 'why', action: 'text', text: 'because' });
      assert.equal((await told('submission', 2)).callback_id, 'form');
    },
    async 'a button changes its message'() {
      const { message } = await app.client.chat.postMessage({ channel, text: 'choose', blocks: [{
        type: 'actions', block_id: 'b', elements: [{ type: 'button', action_id: 'pick', text: { type: 'plain_text', text: 'The double' }, value: 'double' }],
      }] });
      await w.post('/slack/press', { channel, message: message.ts, user: ann, action: 'pick', value: 'double' });
      const action = await told('action');
      assert.deepEqual([action.type, action.value], ['button', 'double']);
      await posts({ channel }, (p) => p.id === message.ts && p.text === 'picked double');
    },
    async 'a choice from a menu that one person sees'() {
      await w.post('/slack/press', { channel, user: ann, action: 'pick', value: 'lead' });
      const action = await told('action', 2);
      assert.deepEqual([action.type, action.selected_option.value], ['static_select', 'lead']);
      await responses((r) => r.Text === 'picked lead' && r.Replaces && r.User === ann);
    },
    async 'a long menu asks for its options'() {
      const { envelope } = await w.post('/slack/suggest', { channel, user: ann, action: 'many', text: 'o' });
      assert.equal((await told('options')).value, 'o');
      const ack = await until('the options', async () => {
        const a = await w.get(`/slack/ack?envelope=${envelope}`);
        return a.options && a;
      });
      assert.equal(ack.options[0].value, '1');
    },
    async 'a shortcut knows its message'() {
      const said = await say('about this one');
      await w.post('/slack/shortcut', { channel, message: said.id, user: ann, callback: 'status' });
      const shortcut = await told('shortcut');
      assert.deepEqual([shortcut.type, shortcut.message.ts, shortcut.message_ts], ['message_action', said.id, said.id]);
      await responses((r) => r.Text === 'all is well');
    },
    async 'the assistant view begins and answers in a thread'() {
      const { thread } = await w.post('/slack/assistant', { channel: direct, user: ann });
      assert.equal((await told('started')).assistant_thread.thread_ts, thread);
      await say('sing', { channel: direct, thread });
      assert.equal((await told('assistant')).thread_ts, thread);
      await posts({ channel: direct, thread }, (p) => p.text === 'la la la');
    },
    async 'nothing went wrong on the way'() {
      assert.deepEqual(heard.error ?? [], []);
      await within('the stop', app.stop());
    },
  };
  return Object.fromEntries(Object.entries(steps).map(([name, step]) => [`${kind}: ${name}`, step]));
}

const first = await open();
const byHand = build(first, { socketMode: true, appToken: first.env.UNDERSTUDY_SLACK_APP_TOKEN });
const second = await open();
const byPost = build(second, { signingSecret: second.signingSecret });
await play('@slack/bolt', {
  ...script('socket', first, byHand, () => byHand.app.start()),
  ...script('http', second, byPost, async () => {
    const port = await freePort();
    await byPost.app.start({ port, host: '127.0.0.1' });
    const url = `http://127.0.0.1:${port}/slack/events`;
    await second.post('/slack/events', { events: url }); // it asks for the challenge first
    const unsigned = await fetch(url, { method: 'POST', body: '{"type":"event_callback"}', headers: { 'content-type': 'application/json' } });
    assert.equal(unsigned.status, 401);
  }),
});
