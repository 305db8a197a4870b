import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DeployedProxy, missingFor, PROXIES } from '../faults/deployed-proxy.ts';

const BACKEND = { port: 8080, managementPort: 8081 };

describe('the samples for proxies', () => {
  it.each(readdirSync('deploy/proxies'))(
    '%s marks the line for client addresses, unless another file has it',
    (name) => {
      const text = readFileSync(`deploy/proxies/${name}`, 'utf8');
      expect(/The line for client addresses|TRUSTED_PROXIES=/.test(text)).toBe(true);
    },
  );

  for (const name of Object.keys(PROXIES) as (keyof typeof PROXIES)[]) {
    const missing = missingFor(name);
    if (missing !== undefined) {
      process.stderr.write(`deploy/proxies/${name} is not checked, because ${missing}.\n`);
      continue;
    }
    it(`${name} is accepted by ${PROXIES[name].program}`, async () => {
      using proxy = await DeployedProxy.prepare(name, BACKEND);
      expect(() => proxy.check()).not.toThrow();
    });
  }
});
