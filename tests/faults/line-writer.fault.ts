import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { followProgram, type Program, runProgram } from '../support/program.ts';
import { UnreadPipe } from '../support/unread-pipe.ts';
import { until } from '../support/until.ts';
import { limitFiles } from './limit-files.ts';
import { numberedLine, readNumberedLines } from './numbered-line.ts';

const KILLS = 20;
const ROUNDS = 12;
const FAULTS_OF_A_ROUND = 6;
const SEED = Date.now() % 1_000_000;

let folder: string;
let path: string;
let seed: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'line-writer-fault-'));
  path = join(folder, 'audit.log');
  seed = SEED;
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A whole number below the bound (a linear congruential generator). */
function random(bound: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * bound);
}

const startWriter = (file: string, first: number) =>
  runProgram('tests/faults/write-lines.ts', {}, [file, String(first)]);

/** The lines that the writer was told to be written. */
const numbersOf = (writer: Program) => writer.stdout().match(/^\d+$/gm)?.map(Number) ?? [];

async function untilMore(writer: Program, count: number): Promise<void> {
  const before = numbersOf(writer).length;
  await until(() => numbersOf(writer).length >= before + count, 'more lines are written');
}

/** All files, the oldest first. */
function readAll() {
  const files = readdirSync(folder).toSorted(
    (one, other) => statSync(join(folder, one)).ino - statSync(join(folder, other)).ino,
  );
  return files.map((file) => readNumberedLines(readFileSync(join(folder, file), 'utf8')));
}

/** Every named line is there, and no line is there twice. */
function expectOnce(named: readonly number[], whole: readonly number[]): void {
  const found = new Set(whole);
  expect(named.filter((number) => !found.has(number))).toEqual([]);
  expect(whole.length).toBe(found.size);
}

describe(`a writer of required lines (seed ${SEED})`, () => {
  it.each([1, 2])(
    `that is killed ${KILLS} times loses no line that it has named, and cuts none, with %d at once`,
    async (count) => {
      const named: number[] = [];
      for (let kill = 0; kill < KILLS; kill += 1) {
        await using writers = new AsyncDisposableStack();
        const running = Array.from({ length: count }, (_, index) =>
          writers.use(startWriter(path, (count * kill + index) * 1_000_000)),
        );
        await until(() => running.every((writer) => numbersOf(writer).length > random(500)), 'lines are written');
        for (const { process } of running) process.kill('SIGKILL');
        await Promise.all(running.map((writer) => writer.ended()));
        named.push(...running.flatMap(numbersOf));
      }
      const text = readFileSync(path, 'utf8');
      // A process that goes on cannot know that another one was killed: its line may stand right behind the fragment.
      const { whole, fragments, others } = readNumberedLines(
        count === 1 ? text : text.replaceAll('{"number"', '\n{"number"'),
      );
      expect(others).toEqual([]);
      expect(fragments).toBeLessThanOrEqual(count * KILLS);
      expectOnce(named, whole);
    },
  );

  it('in any order of faults loses no line that it has named, and writes none twice', async () => {
    const named: number[] = [];
    let files = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await using writer = startWriter(path, round * 1_000_000);
      await untilMore(writer, 50);
      const { process: child } = writer;
      const actions = [
        // The disk becomes full, mostly in the middle of a line.
        async () => {
          const limit = statSync(path).size + random(20_000);
          limitFiles(writer, limit);
          await until(() => !existsSync(path) || statSync(path).size >= limit, 'the disk is full');
        },
        async () => limitFiles(writer, 'unlimited'),
        async () => {
          const reopened = writer.stdout().match(/reopened/g)?.length ?? 0;
          files += 1;
          renameSync(path, `${path}.${files}`);
          child.kill('SIGHUP');
          await until(() => (writer.stdout().match(/reopened/g)?.length ?? 0) > reopened, 'the file is opened again');
        },
        async () => {
          child.kill('SIGSTOP');
          child.kill('SIGCONT');
        },
      ];
      for (let fault = 0; fault < FAULTS_OF_A_ROUND; fault += 1) await actions[random(actions.length)]?.();
      if (random(2) === 0) {
        limitFiles(writer, 'unlimited');
        await untilMore(writer, 50);
      }
      child.kill(random(2) === 0 ? 'SIGKILL' : 'SIGTERM');
      await writer.ended();
      named.push(...numbersOf(writer));
    }
    const all = readAll();
    const whole = all.flatMap((lines) => lines.whole);
    expect(all.flatMap(({ others }) => others).filter((line) => !/^lost \d+$/.test(line))).toEqual([]);
    expectOnce(named, whole);
  });

  /**
   * What is in the file after the disk was full within the fifth line, or that many bytes behind it, and then had room
   * again.
   *
   * @param kind of the log that writes; otherwise the audit log.
   * @param meanwhile happens while the disk is full.
   */
  async function afterFullDisk(offset: number, meanwhile = () => {}, ...kind: readonly string[]) {
    const size = [0, 1, 2, 3, 4].reduce((sum, number) => sum + numberedLine(number).length, offset);
    const writer = ['tests/faults/write-lines.ts', path, '0', ...kind];
    await using program = followProgram(spawn('prlimit', [`--fsize=${size}:unlimited`, process.execPath, ...writer]));
    await program.printed(/refused/);
    meanwhile();
    limitFiles(program, 'unlimited');
    await untilMore(program, 20);
    program.process.kill('SIGKILL');
    await program.ended();
    const { whole, fragments, others } = readNumberedLines(readFileSync(path, 'utf8'));
    expect(others.filter((line) => !/^lost \d+$/.test(line))).toEqual([]);
    return { whole, fragments, named: numbersOf(program) };
  }

  it.each([-2, -1, 0, 1])(
    'continues behind a disk that became full %d bytes from the end of a line',
    async (offset) => {
      const { whole, fragments, named } = await afterFullDisk(offset);
      // The line that the disk has cut is written again as a whole.
      expect(fragments).toBe(offset === -2 || offset === 1 ? 1 : 0);
      expect(whole.slice(0, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expectOnce(named, whole);
    },
  );

  it.each(['a whole line', 'a part of a line'])(
    'writes a line again as a whole if another process has written %s behind what the full disk had taken of it',
    async (what) => {
      const other = numberedLine(1_000_000);
      const { whole, named } = await afterFullDisk(-5, () => {
        appendFileSync(path, what === 'a whole line' ? `\n${other}` : `\n${other.slice(0, -5)}`);
      });
      expect(whole.includes(1_000_000)).toBe(what === 'a whole line');
      expectOnce(named, whole);
    },
  );

  it.each(['log', 'audit log'])(
    'writes a line of the %s as a whole if the file was emptied, which had taken a part of it',
    async (kind) => {
      const { whole, fragments } = await afterFullDisk(-5, () => truncateSync(path), kind);
      expect(fragments).toBe(0);
      expect(whole.slice(0, 3)).toEqual([4, 5, 6]);
    },
  );

  it('waits for a reader that was stopped, and goes on with it', async () => {
    using pipe = new UnreadPipe();
    await using writer = startWriter(pipe.path, 0);
    let text = '';
    await until(() => {
      text += pipe.read();
      return numbersOf(writer).length > 100;
    }, 'lines are written');
    // Nobody reads until the pipe is full and the deadline over: then each line is refused at once.
    await writer.printed(/refused/);
    const before = numbersOf(writer).length;
    await until(() => {
      text += pipe.read();
      return numbersOf(writer).length > before + 100;
    }, 'lines are written again');
    writer.process.kill('SIGKILL');
    await writer.ended();
    text += pipe.read();
    const { whole, fragments, others } = readNumberedLines(text);
    expect(others.filter((line) => !/^lost \d+$/.test(line))).toEqual([]);
    expect(fragments).toBe(0);
    expectOnce(numbersOf(writer), whole);
  });
});
