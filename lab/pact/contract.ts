import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from '@jest/globals';
import { PactV3, PactV4, SpecificationVersion } from '@pact-foundation/pact';

/** The name of this service in contracts. */
const PROVIDER = 'client-credentials-authorization-service';

/** The contracts of our own consumers, and those that other teams add. */
const CONTRACT_FOLDER = fileURLToPath(new URL('contracts/', import.meta.url));

/** In a contract, it takes the place of an access token in a request. */
export const TOKEN_PLACEHOLDER = 'ACCESS_TOKEN';

/** The file names of all contracts. */
export function contractNames(): readonly string[] {
  return readdirSync(CONTRACT_FOLDER).filter((name) => name.endsWith('.json'));
}

export function contractFile(name: string): string {
  return join(CONTRACT_FOLDER, name);
}

/** Records the contract of one consumer while its tests run. */
interface ContractRecorder extends Disposable {
  /** For requests. PactV3, because PactV4 compares only the media type of a form body, not its fields. */
  readonly requests: PactV3;
  /** For messages, which PactV3 does not have. */
  readonly messages: PactV4;
  /**
   * Fails if the recorded interactions differ from the stored contract. With UPDATE_CONTRACTS=true, it stores them
   * first.
   */
  expectStored(): void;
}

/**
 * Pact would write into the stored contract and overwrite an interaction that changed, so it records in a temporary
 * folder.
 */
export function recordContract(consumer: string): ContractRecorder {
  const dir = mkdtempSync(join(tmpdir(), 'contract-'));
  const name = `${consumer}-${PROVIDER}.json`;
  const options = { consumer, provider: PROVIDER, dir, logLevel: 'error' } as const;
  return {
    requests: new PactV3({ ...options, spec: SpecificationVersion.SPECIFICATION_VERSION_V4 }),
    messages: new PactV4(options),
    expectStored() {
      const recorded = readFileSync(join(dir, name), 'utf8');
      if (process.env['UPDATE_CONTRACTS'] === 'true') writeFileSync(contractFile(name), recorded);
      const interactionsIn = (text: string): unknown => JSON.parse(text).interactions;
      expect(interactionsIn(recorded)).toEqual(interactionsIn(readFileSync(contractFile(name), 'utf8')));
    },
    [Symbol.dispose]: () => rmSync(dir, { recursive: true }),
  };
}
