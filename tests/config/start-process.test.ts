import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { LISTS } from '../../config/parts.ts';
import { freePort } from '../support/free-port.ts';
import { startServiceUnderTest } from '../support/running-service.ts';

describe('the start of a service', () => {
  const other = createServer();
  afterAll(() => {
    other.close();
  });

  it('fails if another service has begun to share its port while it prepared its keys', async () => {
    const port = await freePort();
    const listenMeanwhile = async () => {
      other.listen({ port, host: '127.0.0.1', reusePort: true });
      await once(other, 'listening');
    };
    const started = startServiceUnderTest({
      environment: { PORT: String(port), HOST: '127.0.0.1' },
      override: (parts) => parts.register(LISTS.preparations, { useValue: listenMeanwhile }),
    });
    const outcome = await started.then(
      (service) => service.stop(),
      (fault: Error) => fault.message,
    );
    expect(outcome).toContain('EADDRINUSE');
  });
});
