import { type Finding, problem } from '../../../domain/finding.ts';
import { JSON_OPTION, runWork } from '../command-program.ts';
import { EXIT, type OutputStream, Problem } from '../outcome.ts';
import { printable } from '../printable.ts';
import { Terminal, type TerminalStreams } from '../terminal.ts';

const DESCRIPTION = `Checks the settings of the service in this environment, and what they depend on: files, ports, limits, the database, the
public URL and the key sets of trusted issuers. Says what to do about each problem. It changes nothing, and prints no secret.`;

const NOTES = `
Run it where the service runs, as the same user and with the same environment; before startup or beside a running service.

Exit codes: 0 no problem; 1 at least one problem; 2 wrong usage.`;

/** The longest that one check may take, in milliseconds. */
const CHECK_MS = 15_000;

/** Looks at a part of what a service depends on, and changes nothing. */
export interface Check {
  /** What it looks at, such as `database`. */
  readonly name: string;
  /** In the order in which an operator reads them. Takes seconds at most. What it throws counts as a problem. */
  run(): readonly Finding[] | Promise<readonly Finding[]>;
}

interface DoctorParts {
  /** The checks for the settings of the environment. */
  readonly checks: () => Promise<readonly Check[]>;
  readonly version: string;
}

type Named = Finding & { readonly name: string };

/** `npm run doctor`. Returns the exit code. Rejects only on a bug. */
export function runDoctor(
  args: readonly string[],
  streams: TerminalStreams,
  { checks, version }: DoctorParts,
): Promise<number> {
  const page = { name: 'npm run doctor --', version, description: DESCRIPTION, notes: NOTES };
  async function* run(): OutputStream {
    const results = await Promise.all((await checks()).map(findingsOf));
    const findings = results.flat();
    yield { document: findings.map(documentOf), text: () => reportOf(findings), messages: [] };
    if (findings.some(({ state }) => state === 'problem')) throw new Problem(EXIT.refused);
  }
  return runWork(page, { options: [JSON_OPTION], run }, args, new Terminal(streams));
}

async function findingsOf({ name, run }: Check): Promise<readonly Named[]> {
  const timeout = AbortSignal.timeout(CHECK_MS);
  const late = new Promise<never>((_resolve, reject) => {
    timeout.addEventListener('abort', () => reject(new Error(`no response within ${CHECK_MS / 1_000} s`)));
  });
  const findings = await Promise.race([Promise.try(run), late]).catch((fault: unknown) => [
    problem(`this could not be checked: ${messageOf(fault)}`, 'look at the fault; it may be a bug of the doctor'),
  ]);
  return findings.map((finding) => ({ name, ...finding }));
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : 'unknown fault';
}

function documentOf({ name, state, text, fix }: Named) {
  return { check: name, state, text, ...(fix !== undefined && { fix }) };
}

function reportOf(findings: readonly Named[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, state, text, fix }) => [
    `${STATES[state]}  ${name.padEnd(width)}  ${printable(text)}\n`,
    ...(fix === undefined ? [] : [`${' '.repeat(9)}${' '.repeat(width)}  -> ${printable(fix)}\n`]),
  ]);
  const count = (state: Finding['state']) => findings.filter((finding) => finding.state === state).length;
  return `${lines.join('')}\n${plural(count('problem'), 'problem')}, ${plural(count('note'), 'note')}.`;
}

/** Of the same width. */
const STATES = { ok: 'ok     ', note: 'note   ', problem: 'PROBLEM' } as const;

function plural(count: number, what: string): string {
  return `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
}
