import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { availableCores, connectionsInMemory, memoryLimit } from '../../../adapters/system/host-limits.ts';
import {
  inspectKeyFile,
  inspectKeySecretFile,
  inspectMemory,
  inspectOpenFiles,
  inspectWritableFile,
} from '../../../adapters/system/inspect-host.ts';
import { namePortProblem } from '../../../adapters/system/listen-problem.ts';
import { othersMay, readTextFile, readTextFileNow, replaceableFiles } from '../../../adapters/system/read-text-file.ts';
import { findSharedPort } from '../../../adapters/system/shared-port.ts';
import { RandomIdGenerator, randomSecret, SystemClock } from '../../../adapters/system/system.ts';
import { PoolWork, poolBounds, threadsFor, threadsOf } from '../../../adapters/system/thread-pool.ts';
import { ownTime } from '../../../adapters/system/watchdog.ts';
import { DependencyUnavailable } from '../../../application/ports/dependency-unavailable.ts';
import { describeClock } from '../../contracts/clock.ts';
import { describeIdGenerator } from '../../contracts/id-generator.ts';
import { describeSecretGenerator } from '../../contracts/secret-generator.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describe('the clock and random values', () => {
  describeClock('SystemClock', () => new SystemClock());
  describeClock('FixedClock', () => new FixedClock());
  describeIdGenerator('RandomIdGenerator', () => new RandomIdGenerator());
  describeSecretGenerator('randomSecret', randomSecret);
});

describe('limits of the host', () => {
  const MIB = 1_048_576;
  const GIB = 1_024 * MIB;

  describe('the memory limit', () => {
    it('is that of the container if it has a limit, and otherwise that of the machine', () => {
      expect(memoryLimit(8 * GIB, 256 * MIB)).toBe(256 * MIB);
      expect(memoryLimit(8 * GIB, 0)).toBe(8 * GIB);
      // Cgroup v1 without a limit.
      expect(memoryLimit(8 * GIB, 9_223_372_036_854_772_000)).toBe(8 * GIB);
    });
  });

  describe('the memory for connections', () => {
    it.each([
      [100 * MIB, 64, 64],
      [256 * MIB, 1_024, 512],
      [320 * MIB, 2_048, 1_024],
      [512 * MIB, 5_120, 2_560],
    ])('of %d bytes is enough for %d, and for %d with TLS', (bytes, plain, tls) => {
      expect(connectionsInMemory('plain', bytes)).toBe(plain);
      expect(connectionsInMemory('tls', bytes)).toBe(tls);
    });
  });

  describe('availableCores', () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'cgroup-'));
    });
    afterEach(() => rm(folder, { recursive: true }));

    it.each([
      ['100000', '100000', 1],
      ['200000', '100000', 2],
      ['250000', '100000', 2],
      ['50000', '100000', 1],
      ['800000', '100000', 4],
      ['-1', '100000', 4],
      ['0', '100000', 4],
      ['max', '100000', 4],
      ['100000', '0', 4],
    ])('with a quota of %s in %s microseconds, of 4 cores, is %d', async (quota, period, cores) => {
      await writeFile(join(folder, 'cpu.cfs_quota_us'), `${quota}\n`);
      await writeFile(join(folder, 'cpu.cfs_period_us'), `${period}\n`);
      expect(availableCores(4, folder)).toBe(cores);
    });

    it('is what Node.js finds where there is no cgroup v1', () => {
      expect(availableCores(4, folder)).toBe(4);
      expect(availableCores(availableParallelism(), join(folder, 'missing'))).toBe(availableParallelism());
    });
  });
});

describe('findings about the host', () => {
  const GB = 1_000_000_000;

  /** A new folder on a file system of 64 KB that is full; undefined where this user may not mount one. */
  function fullFolder(): (Disposable & { readonly path: string }) | undefined {
    const path = mkdtempSync(join(tmpdir(), 'full-'));
    const dispose = () => {
      spawnSync('umount', [path]);
      rmdirSync(path);
    };
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path]).status !== 0) {
      process.stdout.write('The test of a full disk did not run: this user may not mount a file system.\n');
      rmdirSync(path);
      return undefined;
    }
    spawnSync('dd', ['if=/dev/zero', `of=${join(path, 'filler')}`]);
    return { path, [Symbol.dispose]: dispose };
  }

  describe('inspectMemory', () => {
    it('compares what the service needs with the memory of the machine or container', () => {
      expect(inspectMemory(8 * GB)).toEqual([
        { state: 'ok', text: 'the service may need 320 MB, and this machine or container has 8,000 MB' },
      ]);
      expect(inspectMemory(GB / 10)).toEqual([
        {
          state: 'note',
          text: 'the service may need 320 MB, and this machine or container has 100 MB',
          fix: 'give it at least 320 MB',
        },
      ]);
    });
  });

  describe('inspectOpenFiles', () => {
    it.each([
      ['ok', 20_000, undefined],
      ['ok', Infinity, undefined],
      ['note', 1_024, /^raise the limit to 10228: /],
      ['problem', 200, /^raise the limit to 10228: /],
    ])('finds %s with a limit of %d', (state, limit, fix) => {
      const [finding] = inspectOpenFiles({ limit, reserved: 100 }, 10_000);
      expect(finding?.state).toBe(state);
      if (fix !== undefined) expect(finding?.fix).toMatch(fix);
    });
  });

  describe('files', () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'inspect-host-'));
    });
    afterAll(() => rm(folder, { recursive: true }));

    it.each([
      ['ok', 0o600],
      ['note', 0o640],
    ])('inspectKeyFile finds %s with mode %o', async (state, mode) => {
      const file = join(folder, 'key');
      await writeFile(file, '');
      await chmod(file, mode);
      expect(inspectKeyFile(file, 'forge tokens')).toEqual([
        expect.objectContaining({ state, text: expect.stringContaining(file) }),
      ]);
    });

    it.each([
      ['ok', 0o440],
      ['note', 0o444],
    ])('inspectKeySecretFile finds %s with mode %o', async (state, mode) => {
      const file = join(folder, 'secret');
      await rm(file, { force: true });
      await writeFile(file, '');
      await chmod(file, mode);
      expect(inspectKeySecretFile(file)).toMatchObject([{ state, text: expect.stringContaining(file) }]);
    });

    it.each([
      ['may not write, as they may not write to the program', 0o660, 0o700, true],
      ['may write, as they may to the program: umask 002 made both', 0o660, 0o770, false],
      ['and everybody else may write', 0o666, 0o777, true],
    ])('a file in the folder of the program whose group %s', async (_what, fileMode, folderMode, isRefused) => {
      const file = join(folder, 'shipped.json');
      await writeFile(file, '');
      await chmod(file, fileMode);
      await chmod(folder, folderMode);
      expect(othersMay('write', file, folder)).toBe(isRefused);
      await chmod(folder, 0o700);
    });

    it.each([
      ['every user may replace', 0o777, true],
      ['only their owner may replace, as in /tmp', 0o1777, false],
      ['its group may replace, as on a volume of Kubernetes', 0o2775, false],
    ])('finds files that %s, also behind a link', async (_what, mode, isFound) => {
      const [open, link] = [join(folder, 'open'), join(folder, 'link')];
      await mkdir(open);
      await writeFile(join(open, 'clients.json'), '', { mode: 0o600 });
      await symlink(join(open, 'clients.json'), link);
      await chmod(open, mode);
      const found = replaceableFiles(['A', 'B', 'C'], {
        A: join(open, 'clients.json'),
        B: link,
        C: join(open, 'none'),
      });
      expect(found.map(({ code, fix }) => [code, fix])).toEqual(
        isFound ? ['A', 'B'].map((code) => [code, `chmod o-w ${open}`]) : [],
      );
      await Promise.all([open, link].map((path) => rm(path, { recursive: true })));
    });

    it.each(['/dev/stdin', '/dev/fd/0', 'none/such.file', ''])('%s is a path that others do not write', (path) => {
      const module = join(import.meta.dirname, '../../../adapters/system/read-text-file.ts');
      const code = `import { ownersProblems } from '${module}'; console.log(ownersProblems(['A'], { A: '${path}' }).length)`;
      // The shell makes a pipe.
      const command = `printf x | node --input-type=module-typescript -e "${code}"`;
      expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).toBe('0\n');
    });

    it('inspectWritableFile accepts a file and one that can be made, makes none, and names a missing folder', async () => {
      const [existing, fresh] = [join(folder, 'existing'), join(folder, 'fresh')];
      await writeFile(existing, '');
      for (const file of [existing, fresh])
        expect(inspectWritableFile('AUDIT_FILE', file)).toMatchObject([
          { text: expect.stringContaining(`${file} can be written`) },
        ]);
      expect(inspectWritableFile('AUDIT_FILE', join(folder, 'none/audit.log'))).toEqual([
        {
          state: 'problem',
          text: `AUDIT_FILE: ${folder}/none/audit.log cannot be written (ENOENT)`,
          fix: `mkdir -p ${folder}/none, and give it to the user of the service`,
        },
      ]);
      expect(inspectWritableFile('AUDIT_FILE', join(existing, 'audit.log'))).toEqual([
        {
          state: 'problem',
          text: `AUDIT_FILE: ${existing}/audit.log cannot be written (ENOTDIR)`,
          fix: `name a file in a folder, which ${existing} is not`,
        },
      ]);
      await mkdir(join(folder, 'directory'));
      expect(inspectWritableFile('AUDIT_FILE', join(folder, 'directory'))).toMatchObject([{ state: 'problem' }]);
      await expect(import('node:fs/promises').then(({ stat }) => stat(fresh))).rejects.toThrow('ENOENT');
    });

    it('inspectWritableFile finds that the disk of a file is nearly full', () => {
      using full = fullFolder();
      if (full === undefined) return;
      const file = join(full.path, 'audit.log');
      expect(() => writeFileSync(file, 'a line')).toThrow('ENOSPC');
      expect(inspectWritableFile('AUDIT_FILE', file)).toEqual([
        {
          state: 'note',
          text: `${file} can be written, and its disk has 0 MB left`,
          fix: 'free space, or rotate the file',
        },
      ]);
    });
  });
});

describe('namePortProblem', () => {
  async function listen(host: string, port: number): Promise<void> {
    const server = createServer().listen(port, host);
    await once(server, 'listening');
    server.close();
  }

  const OTHER = { portSetting: 'OTHER_PORT', hostSetting: 'OTHER_HOST', host: '127.0.0.2', port: 1 };

  const taken = createServer();
  let port: number;
  beforeAll(async () => {
    taken.listen(0, '127.0.0.1');
    await once(taken, 'listening');
    port = (taken.address() as AddressInfo).port;
  });
  afterAll(() => void taken.close());

  const problemOf = (host: string, at = port) =>
    namePortProblem([OTHER, { portSetting: 'PORT', hostSetting: 'HOST', host, port: at }], () => listen(host, at));

  it('names the setting of a port that is in use, and what to do', async () => {
    expect(await problemOf('127.0.0.1')).toEqual({
      ok: false,
      problem: [
        {
          code: 'PORT',
          text: `PORT: another program uses port ${port} (EADDRINUSE)`,
          fix: 'stop it, or set PORT to another port',
        },
      ],
    });
  });

  it('names the setting of an address that this machine does not have', async () => {
    // TEST-NET-1 of RFC 5737: nobody has it.
    expect(await problemOf('192.0.2.1')).toEqual({
      ok: false,
      problem: [
        {
          code: 'HOST',
          text: 'HOST: 192.0.2.1 is no address of this machine (EADDRNOTAVAIL)',
          fix: 'write one that it has, or 0.0.0.0 for all of them',
        },
      ],
    });
  });

  it('names the setting of a name without an address', async () => {
    const problem = [
      {
        code: 'HOST',
        text: expect.stringMatching(/^HOST: the name no-such-host\.invalid has no address \(E\w+\)$/),
        fix: expect.stringMatching(/^write an address of this machine, or 0\.0\.0\.0/),
      },
    ];
    expect(await problemOf('no-such-host.invalid')).toEqual({ ok: false, problem });
  });

  it('returns what was started, and rejects with every other fault', async () => {
    expect(await namePortProblem([OTHER], async () => 1)).toEqual({ ok: true, value: 1 });
    const fault = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect', port: OTHER.port });
    await expect(namePortProblem([OTHER], () => Promise.reject(fault))).rejects.toBe(fault);
  });
});

describe('readTextFile', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'read-text-file-'));
    await writeFile(join(folder, 'file'), 'text');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('reads a file', () => {
    expect(readTextFile(join(folder, 'file'))).toEqual({ ok: true, value: 'text' });
  });

  it('names the whole path and the code of the system', () => {
    const problems = [
      join(folder, 'none'),
      join(folder, 'file/none'),
      folder,
      'no-such.json',
      '~/no-such',
      'tests',
    ].map((path) => readTextFile(path));
    const cwd = process.cwd();
    expect(problems.map((problem) => !problem.ok && problem.problem)).toEqual([
      `cannot be read: there is no file ${folder}/none (ENOENT)`,
      `cannot be read: there is no file ${folder}/file/none (ENOTDIR)`,
      `cannot be read: ${folder} is a directory (EISDIR)`,
      `cannot be read: there is no file ${cwd}/no-such.json (ENOENT)`,
      `cannot be read: there is no file ${cwd}/~/no-such; only a shell replaces ~ (ENOENT)`,
      `cannot be read: ${cwd}/tests is a directory (EISDIR)`,
    ]);
  });

  it.each([
    'postgresql://service:its-secret@db.test/auth',
    '-----BEGIN PRIVATE KEY-----\nits-secret',
    '[{"client_secret": "its-secret"}]',
    'its-secret',
    'eyJhbGciOiJub25lIn0.its-secret.c2lnbmF0dXJl',
    `/its-secret${'x'.repeat(1_000)}`,
    '/its-secret/abcdefghijklmnopqrstuvwxyz0123456789+A=',
  ])('does not show what is given in place of a path: %j', (content) => {
    const read = readTextFile(content);
    expect(read).toMatchObject({ ok: false, problem: expect.stringContaining('it must be the path of a file') });
    expect(JSON.stringify(read)).not.toContain('its-secret');
  });
});

describe('readTextFileNow', () => {
  it('reads a file, does not wait for the writer of a pipe, and refuses a named one, as readTextFile does', () => {
    const folder = mkdtempSync(join(tmpdir(), 'read-now-'));
    const [file, pipe] = [join(folder, 'file'), join(folder, 'pipe')];
    writeFileSync(file, 'a text');
    execFileSync('mkfifo', [pipe]);
    expect(readTextFileNow(file)).toEqual({ ok: true, value: 'a text' });
    for (const read of [readTextFile, readTextFileNow]) {
      expect(read(pipe)).toEqual({
        ok: false,
        problem: 'is a named pipe, whose writer may never come: name a regular file',
      });
    }
    const writer = openSync(pipe, constants.O_RDWR);
    const inherited = `/dev/fd/${openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)}`;
    expect(readTextFileNow(inherited)).toEqual({ ok: false, problem: expect.stringContaining('(EAGAIN)') });
    closeSync(writer);
    const script = `import { readTextFile } from '${new URL('../../../adapters/system/read-text-file.ts', import.meta.url)}'; console.log(readTextFile(process.argv[2]));`;
    const run = `'${process.execPath}' --input-type=module -e "$0" x <(printf 'of a shell')`;
    expect(spawnSync('bash', ['-c', run, script], { encoding: 'utf8' }).stdout).toBe(
      "{ ok: true, value: 'of a shell' }\n",
    );
    rmSync(folder, { recursive: true });
  });
});

describe('findSharedPort', () => {
  const HOST = '127.0.0.1';

  it('chooses a port, which is free afterwards', async () => {
    const { port } = await findSharedPort(HOST, 0);
    expect(port).toBeGreaterThan(0);
    expect((await findSharedPort(HOST, port)).port).toBe(port);
  });

  it.each([[false], [true]])('refuses a port that another program uses with reusePort %s', async (reusePort) => {
    const other = createServer().listen({ host: HOST, port: 0, reusePort });
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(findSharedPort(HOST, port)).rejects.toThrow('EADDRINUSE');
    other.close();
  });
});

describe('the thread pool', () => {
  const sum = (bounds: object) => Object.values(bounds).reduce((total, bound) => total + bound, 0);

  describe('the bounds of the work in the pool of threads', () => {
    it.each([
      [1, { bcrypt: 1, assertions: 1, writers: 2 }, 8],
      [2, { bcrypt: 1, assertions: 1, writers: 2 }, 8],
      [4, { bcrypt: 3, assertions: 1, writers: 2 }, 12],
      [64, { bcrypt: 63, assertions: 1, writers: 2 }, 132],
    ])('leave one of %d cores free from BCrypt, and the pool has twice as many threads', (cores, bounds, threads) => {
      expect(poolBounds(cores)).toEqual(bounds);
      expect(threadsFor(bounds)).toBe(threads);
      expect(poolBounds(cores, threads)).toEqual(bounds);
    });

    it.each([
      [4, { bcrypt: 1, assertions: 1, writers: 1 }],
      [6, { bcrypt: 1, assertions: 1, writers: 1 }],
      [8, { bcrypt: 1, assertions: 1, writers: 2 }],
      [16, { bcrypt: 5, assertions: 1, writers: 2 }],
      [1_024, { bcrypt: 63, assertions: 1, writers: 2 }],
    ])('leave threads of a pool free that has %d of them already', (threads, bounds) => {
      expect(poolBounds(64, threads)).toEqual(bounds);
      expect(sum(bounds)).toBeLessThan(threads);
    });

    it.each([1, 2, 3])('are one each in a pool of %d threads', (threads) => {
      expect(poolBounds(64, threads)).toEqual({ bcrypt: 1, assertions: 1, writers: 1 });
    });

    it.each([
      [undefined, 4],
      ['', 4],
      ['none', 4],
      ['16', 16],
    ])('are those for a pool whose size is %s', (size, threads) => {
      expect(threadsOf(size)).toBe(threads);
    });
  });

  describe('work in the pool of threads', () => {
    /** Work that ends when the test says so. */
    function startWork(work: PoolWork, count: number) {
      const started: number[] = [];
      const ends = Array.from({ length: count }, () => Promise.withResolvers<number>());
      const outcomes = ends.map(({ promise }, number) =>
        work.run(() => {
          started.push(number);
          return promise;
        }),
      );
      return { started, ends, outcomes };
    }

    it('runs within its bound, and the rest waits, first in, first out', async () => {
      const work = new PoolWork('work', 2, 10);
      const { started, ends, outcomes } = startWork(work, 5);
      expect(started).toEqual([0, 1]);
      expect(work.load).toEqual({ running: 2, runningMax: 2, waiting: 3, waitingMax: 10 });
      ends[1]?.resolve(10);
      expect(await outcomes[1]).toBe(10);
      ends[0]?.resolve(0);
      await outcomes[0];
      expect(started).toEqual([0, 1, 2, 3]);
      for (const { resolve } of ends) resolve(1);
      await Promise.all(outcomes);
      expect(started).toEqual([0, 1, 2, 3, 4]);
      expect(work.load).toMatchObject({ running: 0, waiting: 0 });
    });

    it('that fails, or cannot even start, makes room for the next one', async () => {
      const work = new PoolWork('work', 1, 10);
      const failing = work.run(() => Promise.reject(new Error('it failed')));
      const throwing = work.run(() => {
        throw new Error('it threw');
      });
      const next = work.run(async () => 'done');
      await expect(failing).rejects.toThrow('it failed');
      await expect(throwing).rejects.toThrow('it threw');
      expect(await next).toBe('done');
      expect(work.load).toMatchObject({ running: 0, waiting: 0 });
    });

    it('is refused while too much waits, and only then', async () => {
      const work = new PoolWork('work', 1, 2);
      const { ends, outcomes } = startWork(work, 3);
      const refused = work.run(async () => 'never');
      await expect(refused).rejects.toThrow(DependencyUnavailable);
      for (const { resolve } of ends) resolve(1);
      expect(await Promise.all(outcomes)).toEqual([1, 1, 1]);
      expect(await work.run(async () => 'again')).toBe('again');
    });
  });
});

describe('the own time of a main thread', () => {
  it.each([
    ['runs all the time', { ms: 1_500, isRunnable: true }, 500],
    ['waits for a CPU most of the time', { ms: 1_020, isRunnable: true }, 20],
    ['waits for something else', { ms: 1_020, isRunnable: false }, 500],
    ['has run for more than that time, by a clock of coarse steps', { ms: 1_504, isRunnable: true }, 500],
  ])('that %s', (_, use, ms) => {
    expect(ownTime(500, { ms: 1_000, isRunnable: true }, use)).toBe(ms);
  });

  it('is all of it on a system that does not tell what a thread does', () => {
    expect(ownTime(500, undefined, undefined)).toBe(500);
  });
});
