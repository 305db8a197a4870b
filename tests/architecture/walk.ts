import { startTokenWalk } from '../support/token-walk.ts';

// `npm run walk` prints the files that a reader of one token request opens. It is a report: no test limits their number.

await using walk = await startTokenWalk(1);
for (const client of ['a cached client', 'a new client'] as const) {
  const files = await walk.filesFor(client);
  process.stdout.write(`A token for ${client} passes ${files.length} files:\n  ${files.join('\n  ')}\n\n`);
}
