// JSON Schemas of what the bot may send to Slack and be told by it, from Slack's own packages:
// node schemas.mjs FOLDER_OF_NODE_MODULES FOLDER. Writes schemas.json: one schema for each name.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [installed, folder] = process.argv.slice(2);
const { createGenerator } = createRequire(join(installed, 'package.json'))('ts-json-schema-generator');

const METHODS = `apps.connections.open apps.uninstall assistant.threads.setStatus
assistant.threads.setSuggestedPrompts assistant.threads.setTitle auth.test auth.revoke
auth.teams.list bots.info chat.appendStream chat.delete chat.getPermalink chat.postEphemeral
chat.postMessage chat.startStream chat.stopStream chat.update conversations.history
conversations.info conversations.join conversations.leave conversations.list conversations.members
conversations.open conversations.replies files.completeUploadExternal files.getUploadURLExternal
files.info files.delete oauth.v2.access oauth.v2.exchange reactions.add reactions.get
reactions.remove team.info usergroups.list usergroups.users.list users.conversations users.info
users.list users.lookupByEmail views.open views.publish views.push views.update`.split(/\s+/);

const wanted = { event: 'SlackEvent', blocks: 'KnownBlock[]', view: 'View' };
const lines = ["import type { KnownBlock, SlackEvent, View } from '@slack/types';"];
lines.push("import type * as web from '@slack/web-api';");
for (const method of METHODS) {
  const name = method.split('.').map((part) => part[0].toUpperCase() + part.slice(1)).join('');
  wanted[`arguments ${method}`] = `web.${name.replace(/^Oauth/, 'OAuth')}Arguments`;
  wanted[`answer ${method}`] = `web.${name}Response`;
}
const names = Object.keys(wanted);
names.forEach((name, at) => lines.push(`export type Wanted${at} = ${wanted[name]};`));

// The packages are found beside the file that imports them.
const place = join(installed, 'wanted');
mkdirSync(place, { recursive: true });
writeFileSync(join(place, 'entry.ts'), `${lines.join('\n')}\n`);
const compilerOptions = {
  module: 'nodenext', moduleResolution: 'nodenext', target: 'es2022', strict: true,
  skipLibCheck: true, types: ['node'],
};
writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['entry.ts'] }));
const generator = createGenerator({
  path: join(place, 'entry.ts'), tsconfig: join(place, 'tsconfig.json'), skipTypeCheck: true,
});
const schemas = {};
names.forEach((name, at) => {
  schemas[name] = generator.createSchema(`Wanted${at}`);
});
writeFileSync(join(folder, 'schemas.json'), JSON.stringify(schemas));
