import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../tests/support/free-port.ts';
import { runProgram } from '../../tests/support/program.ts';

// `node lab/screenshots/terminal.ts` draws docs/images/terminal.svg: commands that run against the demo, and what they
// print.

export const FILE = fileURLToPath(new URL('../../docs/images/terminal.svg', import.meta.url));
const COLUMNS = 104;
const LINE_HEIGHT = 19;
const TOKEN = `curl -s localhost:8080/oauth2/token -d grant_type=client_credentials \\
    -d client_id=demo-client`;
const REASON = ` demo.log | grep -oE '"(reason|client_id)":"[^"]*"'`;
const CONTRACT = `npm run --silent contract -- http://localhost:8080 \\
    --client-id demo-client --client-secret-file demo-secret.txt`;

/** Draws the session of a real run. */
export async function drawTerminal(): Promise<void> {
  writeFileSync(FILE, drawn(await recordTerminal()));
}

/** The lines of a session, as a terminal shows them. */
export async function recordTerminal(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'terminal-'));
  const secretFile = join(folder, 'secret');
  writeFileSync(secretFile, 'demo-secret');
  const log = join(folder, 'demo.log');
  const PORT = String(await freePort());
  await using demo = runProgram('config/demo.ts', { PORT, MANAGEMENT_PORT: '0', SHUTDOWN_GRACE_MS: '0' });
  await demo.printed(/Stop it with Ctrl-C/);
  const run = (command: string): string => {
    const here = command
      .replace('localhost:8080', `localhost:${PORT}`)
      .replace('demo-secret.txt', secretFile)
      .replace('demo.log', log);
    return execFileSync('bash', ['-c', here], { encoding: 'utf8' }).trim();
  };
  const lines: string[] = [];
  const show = (command: string, print = (output: string) => output): string => {
    const output = run(command);
    lines.push(...`$ ${command}\n${print(output)}\n`.split('\n'));
    return output;
  };

  show(`${TOKEN} -d client_secret=demo-secret`, (text) => text.replace(/(?<=eyJ\w{12})[^"]+/, '…'));
  const refused = show(`${TOKEN} -d client_secret=wrong -w '\\n%header{x-request-id}'`);
  const id = refused.split('\n').at(-1) ?? '';
  await demo.printed(new RegExp(id));
  writeFileSync(log, demo.stdout());
  show(`grep -m 1 ${id}${REASON}`);
  show(CONTRACT, (text) => {
    const rows = text.split('\n');
    return [...rows.slice(0, 4), '…', rows.at(-1)].join('\n');
  });
  rmSync(folder, { recursive: true });
  return lines.slice(0, -1).flatMap(wrapped);
}

/** A line as a terminal of this width shows it. */
function wrapped(line: string): readonly string[] {
  return line === '' ? [''] : (line.match(new RegExp(`.{1,${COLUMNS}}`, 'gu')) ?? []);
}

function drawn(lines: readonly string[]): string {
  const [width, height] = [COLUMNS * 8 + 40, lines.length * LINE_HEIGHT + 36];
  let isCommand = false;
  const texts = lines.map((line, index) => {
    isCommand = line.startsWith('$ ') || (isCommand && lines[index - 1]?.endsWith('\\') === true);
    const text = line.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
    return `<text x="20" y="${30 + index * LINE_HEIGHT}"${isCommand ? ' class="command"' : ''}>${text}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" xml:space="preserve">
<title>A terminal</title>
<style>
rect { fill: #f6f8fa; stroke: #d0d7de }
text { fill: #1f2328; font: 13.3px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
.command { fill: #0550ae }
@media (prefers-color-scheme: dark) { rect { fill: #151b23; stroke: #3d444d } text { fill: #d1d7e0 } .command { fill: #79c0ff } }
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>
${texts.join('\n')}
</svg>
`;
}

if (import.meta.main) await drawTerminal();
