import type { Finding } from '../../../domain/finding.ts';
import { JSON_OPTION, runWork } from '../command-program.ts';
import { EXIT, type OutputStream, Problem } from '../outcome.ts';
import { Terminal, type TerminalStreams } from '../terminal.ts';
import { textTable } from '../text-table.ts';

const DESCRIPTION = `Runs the checks of startup for the settings in this environment, without starting the service, and asks a service that
runs here what it says about itself. Says what to do about each problem. It changes nothing, and prints no secret.`;

const NOTES = `
Run it where the service runs, as the same user and with the same environment; before startup or beside a running service.

Exit codes: 0 no problem; 1 at least one problem; 2 wrong usage.`;

/** What a check has found, with its name, such as `client repository`. */
export type NamedFinding = Finding & { readonly name: string };

interface DoctorParts {
  /** In the order in which an operator reads them. */
  readonly inspect: () => Promise<readonly NamedFinding[]>;
  readonly version: string;
}

/** `npm run doctor`. Returns the exit code. Rejects only on a bug. */
export function runDoctor(
  args: readonly string[],
  streams: TerminalStreams,
  { inspect, version }: DoctorParts,
): Promise<number> {
  const page = { name: 'npm run doctor --', version, description: DESCRIPTION, notes: NOTES };
  async function* run(): OutputStream {
    const findings = await inspect();
    const documents = findings.map(({ name, state, text, fix }) => ({ check: name, state, text, fix }));
    yield { document: documents, text: () => reportOf(findings), messages: [] };
    if (findings.some(({ state }) => state === 'problem')) throw new Problem(EXIT.refused);
  }
  return runWork(page, { options: [JSON_OPTION], run }, args, new Terminal(streams));
}

function reportOf(findings: readonly NamedFinding[]): string {
  const shown = ({ state }: Finding) => (state === 'problem' ? 'PROBLEM' : state);
  const rows = findings.flatMap((finding) => [
    [shown(finding), finding.name, finding.text],
    ...(finding.fix === undefined ? [] : [['', '', `-> ${finding.fix}`]]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  return `${textTable(rows)}\n\n${plural(count('problem'), 'problem')}, ${plural(count('note'), 'note')}.`;
}

function plural(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
}
