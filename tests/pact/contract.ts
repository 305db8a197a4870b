import { readFile } from 'node:fs/promises';

export interface ContractState {
  readonly name: string;
  readonly params?: Readonly<Record<string, string>>;
}

export interface ContractInteraction {
  readonly description: string;
  /** Before version 3 of Pact's specification there was one state, without parameters. */
  readonly providerState?: string;
  readonly providerStates?: readonly ContractState[];
}

/** What we read of a contract ourselves, of any version of Pact's specification. */
export interface Contract {
  readonly provider: { readonly name: string };
  readonly interactions?: readonly ContractInteraction[];
  readonly messages?: readonly ContractInteraction[];
}

export async function readContract(file: string): Promise<Contract> {
  return JSON.parse(await readFile(file, 'utf8')) as Contract;
}

export function interactionsOf({ interactions = [], messages = [] }: Contract): readonly ContractInteraction[] {
  return [...interactions, ...messages];
}

export function statesOf({ providerState, providerStates = [] }: ContractInteraction): readonly ContractState[] {
  return [...(providerState === undefined ? [] : [{ name: providerState }]), ...providerStates];
}
