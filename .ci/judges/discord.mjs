// discord.js, unchanged from npm, judges the fake Discord.
import assert from 'node:assert/strict';
import {
  ActionRowBuilder, ButtonBuilder, ButtonStyle, ChannelType, Client, Events, GatewayIntentBits, MessageFlags, MessageType,
  ModalBuilder, Partials, SlashCommandBuilder, StringSelectMenuBuilder, TextInputBuilder, TextInputStyle,
} from 'discord.js';
import { heard, open, play, refused, until } from './world.mjs';

const [square, ann, bob] = ['100', '700', '701'];
const w = await open();
const client = new Client({
  intents: [
    GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent, GatewayIntentBits.DirectMessages,
    GatewayIntentBits.GuildMessageReactions,
  ],
  partials: [Partials.Channel, Partials.Message],
  allowedMentions: { parse: [] },
  rest: { api: w.discord, version: '10', retries: 0, cdn: w.discord.replace(/\/api$/, '') },
});
client.on(Events.Error, (error) => console.error('discord: error event:', error.message));

const say = (text, more = {}) => w.post('/say', { platform: 'discord', channel: square, text, ...more });
const act = (more) => w.post('/discord/interact', { channel: square, user: ann, ...more });
const answer = (id, done) => until('the answer to an interaction', async () => {
  const a = await w.get(`/discord/answer?id=${id}`);
  return done(a) && a;
});
const code = async (promise) => (await refused(promise)).code;
let message, reply, thread, panel;

// interaction makes somebody do something and returns what the client hears.
async function interaction(more) {
  const coming = heard(client, Events.InteractionCreate);
  const { id } = await act(more);
  const got = await coming;
  assert.equal(got.id, id);
  assert.equal(got.user.id, more.user ?? ann);
  return got;
}

await play('discord.js', {
  async 'a wrong token is refused'() {
    const stranger = new Client({ intents: [], rest: { api: w.discord, version: '10', retries: 0 } });
    const error = await refused(stranger.login('wrong'));
    assert.match(error.message, /invalid token/i);
    await stranger.destroy();
  },
  async 'it logs in and sees the guild'() {
    const ready = heard(client, Events.ClientReady);
    await client.login(w.env.UNDERSTUDY_DISCORD_TOKEN);
    await ready;
    assert.equal(client.user.bot, true);
    const guild = client.guilds.cache.get('900');
    assert.deepEqual(guild.channels.cache.map((c) => c.id).sort(), ['100', '110']);
    assert.equal(guild.channels.cache.get(square).type, ChannelType.GuildText);
    assert.equal(guild.members.me.id, client.user.id);
  },
  async 'it hears a message with its mentions'() {
    const coming = heard(client, Events.MessageCreate);
    const said = await say('@understudy good evening');
    message = await coming;
    assert.equal(message.id, said.id);
    assert.equal(message.content, `<@${client.user.id}> good evening`);
    assert.equal(message.author.id, ann);
    assert.equal(message.member.id, ann);
    assert.equal(message.guildId, '900');
    assert.ok(message.mentions.users.has(client.user.id));
    assert.equal(message.type, MessageType.Default);
  },
  async 'it replies with a reference'() {
    const echo = heard(client, Events.MessageCreate, (m) => m.author.id === client.user.id);
    reply = await message.reply('good evening, Ann');
    assert.equal(reply.type, MessageType.Reply);
    assert.equal(reply.reference.messageId, message.id);
    assert.equal((await echo).id, reply.id);
    const [post] = await w.get(`/posts?platform=discord&channel=${square}`);
    assert.deepEqual([post.id, post.text, post.reply], [reply.id, 'good evening, Ann', message.id]);
  },
  async 'a reply to a message that is gone needs leave'() {
    assert.equal(await code(message.channel.send({ content: 'x', reply: { messageReference: '1', failIfNotExists: true } })), 50035);
    const lone = await message.channel.send({ content: 'all the same', reply: { messageReference: '1', failIfNotExists: false } });
    assert.equal(lone.reference?.messageId, undefined);
    await lone.delete();
  },
  async 'it edits, and hears of it'() {
    const echo = heard(client, Events.MessageUpdate, (_, m) => m.id === reply.id);
    await reply.edit('good evening, dear Ann');
    await echo;
    assert.ok((await message.channel.messages.fetch({ message: reply.id, force: true })).editedTimestamp);
  },
  async 'limits and rights are the platform’s'() {
    assert.equal(await code(message.channel.send('x'.repeat(2001))), 50035);
    assert.equal(await code(message.channel.send('')), 50006);
    assert.equal(await code(client.rest.patch(`/channels/${square}/messages/${message.id}`, { body: { content: 'not mine' } })), 50005);
    assert.equal(await code(client.rest.get('/channels/1')), 10003);
    assert.equal(await code(message.channel.messages.fetch('1')), 10008);
    assert.equal((await message.channel.send('x'.repeat(2000))).content.length, 2000);
    assert.equal((await message.channel.send('🎭'.repeat(1990))).content.length, 3980);
  },
  async 'a nonce makes no second message'() {
    const twice = { content: 'once', nonce: 'n-1', enforceNonce: true };
    const [one, two] = [await message.channel.send(twice), await message.channel.send(twice)];
    assert.equal(one.id, two.id);
    assert.equal(one.nonce, 'n-1');
  },
  async 'it reads history'() {
    const newest = await message.channel.messages.fetch({ limit: 3 });
    assert.equal(newest.size, 3);
    const ids = [...newest.keys()];
    assert.deepEqual(ids, [...ids].sort().reverse());
    const after = await message.channel.messages.fetch({ after: message.id, limit: 1 });
    assert.equal(after.first().id, reply.id);
    const before = await message.channel.messages.fetch({ before: reply.id, limit: 1 });
    assert.equal(before.first().id, message.id);
  },
  async 'it opens a thread and posts there'() {
    const made = heard(client, Events.ThreadCreate);
    thread = await message.startThread({ name: 'an evening', autoArchiveDuration: 1440 });
    assert.equal((await made).id, thread.id);
    assert.equal(thread.id, message.id);
    assert.equal(thread.parentId, square);
    assert.equal(await code(message.startThread({ name: 'again' })), 160004);
    const inside = await thread.send('in here');
    assert.equal(inside.channelId, thread.id);
    const posts = await w.get(`/posts?platform=discord&channel=${square}&thread=${thread.id}`);
    assert.equal(posts.at(-1).text, 'in here');
  },
  async 'it hears people in the thread'() {
    const coming = heard(client, Events.MessageCreate, (m) => m.author.id === bob);
    await say('so do I', { thread: thread.id, user: bob });
    const got = await coming;
    assert.equal(got.channel.id, thread.id);
    assert.equal(got.channel.isThread(), true);
  },
  async 'an archived thread wakes up by a post, a locked one does not'() {
    await thread.setArchived(true);
    assert.equal(thread.archived, true);
    assert.equal(await code(thread.setName('other')), 50083);
    const woken = heard(client, Events.ThreadUpdate, (_, t) => !t.archived);
    await thread.send('awake');
    await woken;
  },
  async 'it registers commands'() {
    const set = await client.application.commands.set([
      new SlashCommandBuilder().setName('model').setDescription('Choose a model')
        .addStringOption((o) => o.setName('model').setDescription('Which').setAutocomplete(true)),
      new SlashCommandBuilder().setName('status').setDescription('Tell how it goes'),
    ]);
    assert.equal(set.size, 2);
    const stored = await client.application.commands.fetch();
    assert.deepEqual(stored.map((c) => c.name).sort(), ['model', 'status']);
    assert.equal(stored.find((c) => c.name === 'model').options[0].autocomplete, true);
    assert.equal((await client.application.fetch()).id, client.application.id);
  },
  async 'it answers a command privately, once'() {
    const got = await interaction({ command: 'status' });
    assert.ok(got.isChatInputCommand());
    assert.equal(got.commandName, 'status');
    await got.reply({ content: 'all is well', flags: MessageFlags.Ephemeral });
    const a = await answer(got.id, (a) => a.Callback);
    assert.deepEqual([a.Callback, a.Content, a.Ephemeral], [4, 'all is well', true]);
    const again = client.rest.post(`/interactions/${got.id}/${got.token}/callback`, { body: { type: 4, data: { content: 'x' } }, auth: false });
    assert.equal(await code(again), 40060);
    assert.equal(await code(client.rest.post('/interactions/1/x/callback', { body: { type: 4, data: { content: 'x' } }, auth: false })), 10062);
  },
  async 'a deferred answer is patched, then followed up'() {
    const got = await interaction({ command: 'model', options: { model: 'lead/actor' } });
    assert.equal(got.options.getString('model'), 'lead/actor');
    await got.deferReply();
    await got.editReply('here it is');
    const more = await got.followUp({ content: 'and one for you', flags: MessageFlags.Ephemeral });
    assert.ok(more.id);
    const a = await answer(got.id, (a) => a.FollowUps?.length);
    assert.deepEqual([a.Callback, a.Content, a.FollowUps[0].Content, a.FollowUps[0].Ephemeral], [5, 'here it is', 'and one for you', true]);
    assert.equal((await got.fetchReply()).content, 'here it is');
    await got.deleteReply();
    assert.ok((await answer(got.id, (a) => a.Deleted)).Deleted);
  },
  async 'a follow-up takes the place of a deferred answer'() {
    const got = await interaction({ command: 'status' });
    await got.deferReply();
    await client.rest.post(`/webhooks/${got.applicationId}/${got.token}`, { body: { content: 'eaten' }, auth: false });
    const a = await answer(got.id, (a) => a.Content);
    assert.deepEqual([a.Content, a.FollowUps?.length ?? 0], ['eaten', 0]);
  },
  async 'it posts a menu and a button'() {
    const menu = new StringSelectMenuBuilder().setCustomId('menu').setPlaceholder('Which?')
      .addOptions({ label: 'Lead', value: 'lead' }, { label: 'Double', value: 'double', description: 'stands in' });
    const button = new ButtonBuilder().setCustomId('more').setLabel('More').setStyle(ButtonStyle.Secondary);
    panel = await message.channel.send({
      content: 'choose', components: [new ActionRowBuilder().addComponents(menu), new ActionRowBuilder().addComponents(button)],
    });
    assert.equal(panel.components.length, 2);
    assert.equal(panel.components[0].components[0].options[1].value, 'double');
    const body = (options) => ({ content: 'x', components: [{ type: 1, components: [{ type: 3, custom_id: 'm', options }] }] });
    const many = Array.from({ length: 26 }, (_, i) => ({ label: `${i}`, value: `${i}` }));
    const error = await refused(client.rest.post(`/channels/${square}/messages`, { body: body(many) }));
    assert.equal(error.code, 50035);
    assert.ok(error.rawError.errors.components, 'the error names the place');
    const two = { type: 1, components: [1, 2].map(() => ({ type: 2, style: 2, label: 'b', custom_id: 'same' })) };
    assert.equal(await code(client.rest.post(`/channels/${square}/messages`, { body: { content: 'x', components: [two] } })), 50035);
  },
  async 'a menu is answered by changing its message'() {
    const got = await interaction({ type: 'menu', customId: 'menu', values: ['double'], message: panel.id });
    assert.ok(got.isStringSelectMenu());
    assert.deepEqual(got.values, ['double']);
    assert.equal(got.message.id, panel.id);
    await got.update({ content: 'the double, then' });
    assert.equal((await answer(got.id, (a) => a.Callback)).Callback, 7);
    assert.equal((await message.channel.messages.fetch({ message: panel.id, force: true })).content, 'the double, then');
  },
  async 'a button is deferred and then changed'() {
    const got = await interaction({ type: 'button', customId: 'more', message: panel.id });
    assert.ok(got.isButton());
    await got.deferUpdate();
    await got.editReply({ content: 'no more', components: [] });
    const a = await answer(got.id, (a) => a.Edits);
    assert.deepEqual([a.Callback, a.Content], [6, 'no more']);
    const now = await message.channel.messages.fetch({ message: panel.id, force: true });
    assert.deepEqual([now.content, now.components.length], ['no more', 0]);
  },
  async 'it completes what somebody types'() {
    const got = await interaction({ type: 'complete', command: 'model', options: { model: 'le' } });
    assert.ok(got.isAutocomplete());
    assert.equal(got.options.getFocused(), 'le');
    const many = Array.from({ length: 26 }, (_, i) => ({ name: `${i}`, value: `${i}` }));
    assert.equal(await code(client.rest.post(`/interactions/${got.id}/${got.token}/callback`, { body: { type: 8, data: { choices: many } }, auth: false })), 50035);
    await got.respond([{ name: 'lead/actor', value: 'lead/actor' }]);
    assert.equal((await answer(got.id, (a) => a.Choices?.length)).Choices[0].Value, 'lead/actor');
  },
  async 'it shows a form and hears what was written'() {
    const got = await interaction({ command: 'status' });
    const input = new TextInputBuilder().setCustomId('why').setLabel('Why?').setStyle(TextInputStyle.Short);
    await got.showModal(new ModalBuilder().setCustomId('form').setTitle('A form').addComponents(new ActionRowBuilder().addComponents(input)));
    assert.equal((await answer(got.id, (a) => a.Callback)).Callback, 9);
    const sent = await interaction({ type: 'modal', customId: 'form', options: { why: 'because' } });
    assert.ok(sent.isModalSubmit());
    assert.equal(sent.fields.getTextInputValue('why'), 'because');
    await sent.reply({ content: 'thank you', flags: MessageFlags.Ephemeral });
    assert.equal((await answer(sent.id, (a) => a.Callback)).Content, 'thank you');
  },
  async 'a file goes up and comes down again'() {
    const bytes = Buffer.from('To be, or not to be.\n');
    const post = await message.channel.send({ content: 'the line', files: [{ attachment: bytes, name: 'line.txt', description: 'a line' }] });
    const file = post.attachments.first();
    assert.deepEqual([file.name, file.size], ['line.txt', bytes.length]);
    const down = await fetch(file.url);
    assert.equal(Buffer.from(await down.arrayBuffer()).toString(), bytes.toString());
    const only = await message.channel.send({ files: [{ attachment: bytes, name: 'alone.txt' }] });
    assert.equal(only.content, '');
    const many = Array.from({ length: 11 }, (_, i) => ({ attachment: bytes, name: `${i}.txt` }));
    assert.equal(await code(message.channel.send({ files: many })), 50035);
  },
  async 'a file of somebody comes down'() {
    const coming = heard(client, Events.MessageCreate, (m) => m.attachments.size > 0);
    await say('have a look', { file: { name: 'note.txt', mime: 'text/plain', text: 'a note' } });
    const file = (await coming).attachments.first();
    assert.deepEqual([file.name, file.size, file.contentType], ['note.txt', 6, 'text/plain']);
    assert.equal(await (await fetch(file.url)).text(), 'a note');
  },
  async 'it types and reacts'() {
    await message.channel.sendTyping();
    await message.react('👀');
    assert.equal(await code(client.rest.put(`/channels/${square}/messages/1/reactions/${encodeURIComponent('👀')}/@me`)), 10008);
  },
  async 'it deletes'() {
    const gone = heard(client, Events.MessageDelete, (m) => m.id === reply.id);
    await reply.delete();
    await gone;
    assert.equal(await code(reply.delete()), 10008);
  },
  async 'a direct message arrives'() {
    const coming = heard(client, Events.MessageCreate, (m) => m.channel.type === ChannelType.DM);
    await say('psst', { channel: '6700' });
    const got = await coming;
    assert.equal(got.guildId, null);
    const back = await got.author.send('yes?');
    assert.equal(back.channelId, got.channelId);
  },
  async 'a limit is told and waited for'() {
    await w.post('/fault', { platform: 'discord', request: 'POST /channels/*/messages', retryAfter: 1 });
    const began = Date.now();
    await message.channel.send('patience');
    assert.ok(Date.now() - began >= 900, 'the client waits as long as it is told');
  },
  async 'a dropped connection is resumed and misses nothing'() {
    const resumed = heard(client, Events.ShardResume);
    const coming = heard(client, Events.MessageCreate, (m) => m.content === 'while you were away');
    await w.post('/discord/break', { how: 'drop', meanwhile: { channel: square, text: 'while you were away' } });
    await resumed;
    await coming;
  },
  async 'a request to reconnect is followed'() {
    const resumed = heard(client, Events.ShardResume);
    await w.post('/discord/break', { how: 'reconnect' });
    await resumed;
  },
  async 'a session that is gone begins anew'() {
    const ready = heard(client, Events.ShardReady);
    await w.post('/discord/break', { how: 'invalidate' });
    await ready;
    const coming = heard(client, Events.MessageCreate, (m) => m.content === 'still there?');
    await say('still there?');
    await coming;
  },
});
