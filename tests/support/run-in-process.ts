import { closeSync, createWriteStream, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
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
 * Runs a program in this process, with streams of its own. Most of the time of a short program is its start; this is for
 * tests whose subject is what it answers. Standard error is a file, since audit lines are written to its descriptor. In Jest,
 * faults of Node.js are of another class `Error`: tests of what a program says about them start it.
 */
export async function runInProcess(
  program: ProgramOfConfig,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  stdin: string | Buffer = '',
): Promise<FinishedProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'program-'));
  const path = join(folder, 'stderr');
  const fd = openSync(path, 'a');
  const stderr = Object.assign(createWriteStream(path, { fd, autoClose: false }), { fd });
  const written: Buffer[] = [];
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  try {
    const input = Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]);
    const exitCode = await program(args, { stdin: input, stdout, stderr }, environment);
    stderr.end();
    await finished(stderr);
    return { exitCode, stdout: Buffer.concat(written).toString(), stderr: readFileSync(path, 'utf8') };
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
}
