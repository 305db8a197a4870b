import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import type { ProgramStreams } from '../../config/programs/open-program-audit.ts';

/** What a program did. */
export interface FinishedProgram {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program of config/, as its file in config/ calls it. */
type ProgramOfConfig = (
  args: readonly string[],
  streams: ProgramStreams,
  environment: Readonly<Record<string, string>>,
) => Promise<number>;

/**
 * Runs a program in this process, with streams of its own. Most of the time of a short program is its start; this is
 * for tests whose subject is what it answers. Standard error is a file, since audit lines are written to its
 * descriptor. In Jest, faults of Node.js are of another class `Error`: tests of what a program says about them start
 * it.
 */
export function runInProcess(
  program: ProgramOfConfig,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdin: string | Buffer = '',
): Promise<FinishedProgram> {
  const input = Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]);
  return run(program, args, environment, { input, isTTY: false });
}

/** The same with streams that are terminals. Once the program asks, types what `respond` returns. */
export async function runAtTerminal(
  program: ProgramOfConfig,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  respond: () => Promise<string>,
): Promise<FinishedProgram> {
  const input = new PassThrough();
  let asking: Promise<void> | undefined;
  const onError = (text: string) => {
    if (text.endsWith(' [y/N] ')) asking = respond().then((response) => void input.write(response));
  };
  const done = await run(program, args, environment, { input, isTTY: true, onError });
  await asking;
  return done;
}

interface Streams {
  readonly input: Readable;
  readonly isTTY: boolean;
  readonly onError?: (text: string) => void;
}

async function run(
  program: ProgramOfConfig,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  { input, isTTY, onError }: Streams,
): Promise<FinishedProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'program-'));
  const path = join(folder, 'stderr');
  const fd = openSync(path, 'a');
  const written: Buffer[] = [];
  const stderr = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writeSync(fd, chunk);
      onError?.(chunk.toString());
      done();
    },
  });
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  try {
    const streams = {
      stdin: Object.assign(input, { isTTY }),
      stdout: Object.assign(stdout, { isTTY }),
      stderr: Object.assign(stderr, { isTTY, fd }),
    };
    const exitCode = await program(args, streams, environment);
    return { exitCode, stdout: Buffer.concat(written).toString(), stderr: readFileSync(path, 'utf8') };
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
}
