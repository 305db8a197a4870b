import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { openAuditFile, openAuditFileAgain } from '../../adapters/log/audit-file.ts';
import { LineWriter } from '../../adapters/log/line-writer.ts';
import { numberedLine } from './numbered-line.ts';

// Writes required lines to a file, several at once, until it is ended, and names each one that was written on standard
// output, or that it was refused. Arguments: the file, the number of the first line, and whether it is the `log` or the
// `audit log`. SIGHUP opens the file again, SIGTERM closes it.

/** So that the files stay small. */
const LINES_MAX = 20_000;

const [path = '', first = '0', kind = ''] = process.argv.slice(2);
const lossLine = (lines: number) => `lost ${lines}\n`;
const lines = new LineWriter({
  name: kind === 'log' ? 'log' : 'audit log',
  descriptor: openAuditFile(path),
  openAgain: () => openAuditFileAgain(path),
  lossLine,
});
const end = Number(first) + LINES_MAX;
let number = Number(first);
let isOver = false;

process.on('SIGHUP', async () => {
  await lines.reopen();
  writeSync(1, 'reopened\n');
});
process.on('SIGTERM', async () => {
  isOver = true;
  await lines.close();
  process.exit();
});

async function writeLines(): Promise<void> {
  while (!isOver && number < end) {
    const own = number++;
    try {
      await lines.writeRequired(numberedLine(own));
      writeSync(1, `${own}\n`);
    } catch {
      writeSync(1, 'refused\n');
      await delay(5);
    }
  }
}
await Promise.all(Array.from({ length: 16 }, writeLines));
// Until it is ended.
setInterval(() => {}, 60_000);
