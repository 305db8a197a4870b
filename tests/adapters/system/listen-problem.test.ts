import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { namePortProblem } from '../../../adapters/system/listen-problem.ts';

async function listen(host: string, port: number): Promise<void> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  server.close();
}

const OTHER = { portSetting: 'OTHER_PORT', hostSetting: 'OTHER_HOST', host: '127.0.0.2', port: 1 };

describe('namePortProblem', () => {
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
      problem: [`PORT: another program uses port ${port} (EADDRINUSE): stop it, or set PORT to another port`],
    });
  });

  it('names the setting of an address that this machine does not have', async () => {
    // TEST-NET-1 of RFC 5737: nobody has it.
    expect(await problemOf('192.0.2.1')).toEqual({
      ok: false,
      problem: [
        'HOST: 192.0.2.1 is no address of this machine (EADDRNOTAVAIL): write one that it has, or 0.0.0.0 for all of them',
      ],
    });
  });

  it('names the setting of a name without an address', async () => {
    const problem = [
      expect.stringMatching(
        /^HOST: the name no-such-host\.invalid has no address \(E\w+\): write an address of this machine, or 0\.0\.0\.0/,
      ),
    ];
    expect(await problemOf('no-such-host.invalid')).toEqual({ ok: false, problem });
  });

  it('returns what was started, and rejects with every other fault', async () => {
    expect(await namePortProblem([OTHER], async () => 1)).toEqual({ ok: true, value: 1 });
    const fault = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect', port: OTHER.port });
    await expect(namePortProblem([OTHER], () => Promise.reject(fault))).rejects.toBe(fault);
  });
});
