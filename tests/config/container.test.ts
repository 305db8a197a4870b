import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { createJsonLog } from '../../adapters/log/json-log.ts';
import { buildContainer } from '../../config/container.ts';
import { PARTS } from '../../config/parts.ts';
import { loadConfiguration } from '../../config/settings/load-configuration.ts';
import { success } from '../../domain/result.ts';

const silent = createJsonLog(new Writable({ write: (_chunk, _encoding, done) => done() }));

/** The container of a service in memory; what it opened is closed when the test ends. */
async function build(): Promise<AsyncDisposable & { readonly container: DependencyContainer }> {
  const environment = { CLIENT_REPOSITORY: 'memory', CLIENTS_FILE: 'clients.json' };
  const configuration = loadConfiguration(environment, () => success('[]'));
  if (!configuration.ok) throw new Error(configuration.problem.join());
  const container = await buildContainer(configuration.value, (own) => own.registerInstance(PARTS.log, silent));
  return {
    container,
    async [Symbol.asyncDispose]() {
      for (const dependency of container.resolve(PARTS.dependencies)) await dependency.close();
    },
  };
}

describe('the container', () => {
  /** Those of capabilities that are switched off here. */
  const ABSENT = [
    ...['authenticateByIdentity', 'authenticateByKey', 'usedAssertions'],
    ...['aroundRequests', 'logMembers', 'observedPorts'],
    ...['tokenReuse', 'replicaRegister', 'sharedKeyDirectory'],
  ];
  const names = (Object.keys(PARTS) as (keyof typeof PARTS)[]).filter((name) => !ABSENT.includes(name));

  it('has no part of a capability that is switched off', async () => {
    await using built = await build();
    for (const name of ABSENT) {
      expect(built.container.isRegistered<unknown>(PARTS[name as keyof typeof PARTS], true)).toBe(false);
    }
  });

  it.each(names)('resolves %s, and the same one again', async (name) => {
    await using built = await build();
    const { container } = built;
    const token: InjectionToken<unknown> = PARTS[name];
    const part = container.resolve(token);
    expect(part).toBeDefined();
    expect(container.resolve(token)).toBe(part);
  });

  it('shares no part with another container', async () => {
    await using one = await build();
    await using other = await build();
    for (const token of [PARTS.keyProvider, PARTS.issueToken]) {
      expect(one.container.resolve<unknown>(token)).not.toBe(other.container.resolve<unknown>(token));
    }
  });
});
