import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DeployedProxy, PROXIES } from '../support/deployed-proxy.ts';

const BACKEND = { port: 8080, managementPort: 8081 };

const OPTION = { nginx: '-v', haproxy: '-v', caddy: 'version' };

describe('the samples for proxies', () => {
  it.each(readdirSync('deploy/proxies'))(
    '%s marks the line for client addresses, unless another file has it',
    (name) => {
      const text = readFileSync(`deploy/proxies/${name}`, 'utf8');
      expect(/The line for client addresses|TRUSTED_PROXIES=/.test(text)).toBe(true);
    },
  );

  for (const name of Object.keys(PROXIES) as (keyof typeof PROXIES)[]) {
    if (spawnSync(name, [OPTION[name]]).status !== 0) {
      process.stderr.write(`The sample for ${name} is not checked, because ${name} is not installed.\n`);
      continue;
    }
    it(`is accepted by ${name}`, async () => {
      using proxy = await DeployedProxy.prepare(name, BACKEND);
      expect(() => proxy.check()).not.toThrow();
    });
  }
});
