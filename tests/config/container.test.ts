import { describe, expect, it } from '@jest/globals';
import type { InjectionToken } from 'tsyringe';
import { loadConfiguration } from '../../config/configuration.ts';
import { buildContainer } from '../../config/container.ts';
import { TOKENS } from '../../config/tokens.ts';

async function build() {
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
  const configuration = loadConfiguration(environment, () => '[]');
  if (!configuration.ok) throw new Error(configuration.problem.join());
  return buildContainer(configuration.value);
}

describe('the container', () => {
  const names = Object.keys(TOKENS) as (keyof typeof TOKENS)[];

  it.each(names)('resolves %s, and the same one again', async (name) => {
    const container = await build();
    const token: InjectionToken<unknown> = TOKENS[name];
    const part = container.resolve(token);
    expect(part).toBeDefined();
    expect(container.resolve(token)).toBe(part);
  });

  it('shares no part with another container', async () => {
    const [one, other] = await Promise.all([build(), build()]);
    expect(one.resolve(TOKENS.keyProvider)).not.toBe(other.resolve(TOKENS.keyProvider));
    expect(one.resolve(TOKENS.issueToken)).not.toBe(other.resolve(TOKENS.issueToken));
  });
});
