import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { findSharedPort } from '../../../adapters/system/shared-port.ts';

const HOST = '127.0.0.1';

describe('findSharedPort', () => {
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
