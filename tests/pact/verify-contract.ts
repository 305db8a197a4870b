import { isDeepStrictEqual } from 'node:util';
import { Verifier, type VerifierOptions } from '@pact-foundation/pact';
import { type ContractInteraction, interactionsOf, readContract, statesOf } from './contract.ts';
import { PROVIDER } from './contract-folder.ts';
import { providerMessages } from './provider-messages.ts';
import type { ProviderStates, StateParameters } from './provider-states.ts';
import { replayRequest } from './replay-request.ts';

/** An interaction of a contract, and what is wrong with the service's side of it: nothing, where it is kept. */
export interface VerifiedInteraction {
  readonly description: string;
  readonly problems: readonly string[];
}

interface StateFault {
  readonly name: string;
  readonly parameters: StateParameters;
  readonly message: string;
}

/** What Pact's core tells of one interaction. */
interface CoreResult {
  readonly description: string;
  readonly result: string;
  readonly mismatch?: { readonly mismatches?: readonly CoreMismatch[] };
}

interface CoreMismatch {
  readonly path?: string;
  readonly key?: string;
  readonly mismatch: string;
}

/** Plays one side of a contract, the consumer's, to the service at a URL. Every interaction of the file is in the answer. */
export async function verifyContract(
  file: string,
  url: string,
  states: ProviderStates,
): Promise<readonly VerifiedInteraction[]> {
  const contract = await readContract(file);
  if (contract.provider.name !== PROVIDER) throw new Error(`${file} is a contract with ${contract.provider.name}`);

  const faults: StateFault[] = [];
  const results = await runVerifier({
    providerBaseUrl: url,
    pactUrls: [file],
    logLevel: 'error',
    stateHandlers: stateHandlers(states, faults),
    messageProviders: providerMessages(states),
    requestFilter: (request, _response, next) => {
      replayRequest(request, states.accessToken);
      next();
    },
  });

  return interactionsOf(contract).map((interaction) => ({
    description: interaction.description,
    problems: [
      ...unknownStates(interaction, states),
      ...faultsOf(interaction, faults),
      ...problemsOf(interaction, results),
    ],
  }));
}

async function runVerifier(options: VerifierOptions): Promise<readonly CoreResult[]> {
  // The same document tells of success and of failure; other errors have another text, and end here.
  const answer = await new Verifier(options).verifyProvider().catch((error: Error) => error.message);
  return (JSON.parse(String(answer)) as { interactionResults: readonly CoreResult[] }).interactionResults;
}

/** Pact prints what a handler throws, and goes on as if the state were there; so it is kept here. */
function stateHandlers(states: ProviderStates, faults: StateFault[]): NonNullable<VerifierOptions['stateHandlers']> {
  const guarded = (name: string, handle: (parameters: StateParameters) => Promise<void>) => async (given: unknown) => {
    const parameters = (given ?? {}) as StateParameters;
    try {
      await handle(parameters);
    } catch (fault) {
      faults.push({ name, parameters, message: fault instanceof Error ? fault.message : String(fault) });
    }
  };
  return Object.fromEntries(
    Object.entries(states.byName).map(([name, { setup, teardown = async () => {} }]) => [
      name,
      { setup: guarded(name, setup), teardown: guarded(name, teardown) },
    ]),
  );
}

/** Pact would only warn of them. */
function unknownStates(interaction: ContractInteraction, states: ProviderStates): readonly string[] {
  return statesOf(interaction)
    .filter(({ name }) => !Object.hasOwn(states.byName, name))
    .map(({ name }) => `no provider state is called "${name}"`);
}

function faultsOf(interaction: ContractInteraction, faults: readonly StateFault[]): readonly string[] {
  const states = statesOf(interaction);
  return faults
    .filter((fault) =>
      states.some(({ name, params = {} }) => name === fault.name && isDeepStrictEqual(params, fault.parameters)),
    )
    .map(({ name, message }) => `the provider state "${name}" could not be brought about: ${message}`);
}

function problemsOf({ description }: ContractInteraction, results: readonly CoreResult[]): readonly string[] {
  const own = results.filter((result) => result.description === description);
  if (own.length === 0) return ['it was not verified'];
  return own
    .filter(({ result }) => result !== 'OK')
    .flatMap(({ mismatch }) => mismatch?.mismatches?.map(problemOf) ?? [JSON.stringify(mismatch)]);
}

function problemOf({ path, key, mismatch }: CoreMismatch): string {
  const place = path ?? key;
  return place === undefined ? mismatch : `${place}: ${mismatch}`;
}
