import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { PactV3, PactV4, SpecificationVersion, type V3Interaction, type V3ProviderState } from '@pact-foundation/pact';
import { CONTRACT_FOLDER, contractFile, PROVIDER } from './contract-folder.ts';
import { quietPact } from './quiet-pact.ts';

/** Set to `true`, it makes a consumer's tests write its contract instead of comparing it. */
export const UPDATE_VARIABLE = 'UPDATE_CONTRACTS';

export interface MessageInteraction {
  readonly states: readonly V3ProviderState[];
  readonly description: string;
  readonly contents: unknown;
}

interface RecordedContract {
  readonly consumer: unknown;
  readonly interactions: readonly { readonly description: string }[];
  readonly metadata: { readonly pactSpecification: unknown };
  readonly provider: unknown;
}

/** What one consumer's tests ask of the service, recorded in a folder of its own, so that no run meets another's file. */
export class ContractRecording implements AsyncDisposable {
  readonly #consumer: string;
  readonly #folder: string;
  readonly #requests: PactV3;
  readonly #messages: PactV4;

  private constructor(consumer: string, folder: string) {
    const options = { consumer, provider: PROVIDER, dir: folder, logLevel: 'error' } as const;
    this.#consumer = consumer;
    this.#folder = folder;
    // PactV4 knows no form body: it takes one for a file, and compares its media type alone.
    this.#requests = new PactV3({ ...options, spec: SpecificationVersion.SPECIFICATION_VERSION_V4 });
    this.#messages = new PactV4(options);
  }

  static async start(consumer: string): Promise<ContractRecording> {
    quietPact();
    return new ContractRecording(consumer, await mkdtemp(join(tmpdir(), 'contract-')));
  }

  /** Runs a consumer against a server that answers as the interaction says, and records the interaction if it is met. */
  async request(interaction: V3Interaction, consume: (baseUrl: string) => Promise<void>): Promise<void> {
    await this.#requests.addInteraction(interaction).executeTest(({ url }) => consume(url));
  }

  /** Hands the example contents to a consumer, and records the message if the consumer takes it. */
  async message(
    { states, description, contents }: MessageInteraction,
    consume: (contents: unknown) => void,
  ): Promise<void> {
    let message = this.#messages.addAsynchronousInteraction();
    for (const state of states) message = message.given(state.description, state.parameters);
    await message
      .expectsToReceive(description, (builder) => builder.withJSONContent(contents))
      .executeTest(async (received) => consume(received.contents.content));
  }

  /** Fails where what was recorded is not what is kept in the folder of contracts, or keeps it if that was asked for. */
  async expectKept(folder = CONTRACT_FOLDER): Promise<void> {
    const recorded = await this.text();
    const kept = contractFile(this.#consumer, folder);
    if (process.env[UPDATE_VARIABLE] === 'true') await writeFile(kept, recorded);
    expect(recorded).toBe(await readFile(kept, 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  /** The contract alone: without the versions of the tools that wrote it, and in an order that no tool or test decides. */
  async text(): Promise<string> {
    const text = await readFile(contractFile(this.#consumer, this.#folder), 'utf8');
    const { consumer, interactions, metadata, provider } = JSON.parse(text) as RecordedContract;
    const contract = {
      consumer,
      provider,
      interactions: interactions.toSorted((one, other) => (one.description < other.description ? -1 : 1)),
      metadata: { pactSpecification: metadata.pactSpecification },
    };
    return `${JSON.stringify(contract, null, 2)}\n`;
  }
}
