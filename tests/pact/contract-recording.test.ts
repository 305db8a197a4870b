import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contractFile } from './contract-folder.ts';
import { ContractRecording, UPDATE_VARIABLE } from './contract-recording.ts';

const CONSUMER = 'drifting-consumer';

let folder: string;

beforeAll(async () => {
  delete process.env[UPDATE_VARIABLE];
  folder = await mkdtemp(join(tmpdir(), 'kept-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function record(status: number): Promise<ContractRecording> {
  const recording = await ContractRecording.start(CONSUMER);
  const interaction = {
    uponReceiving: 'a request',
    withRequest: { method: 'GET', path: '/' },
    willRespondWith: { status },
  };
  await recording.request(interaction, async (baseUrl) => {
    await fetch(baseUrl);
  });
  return recording;
}

describe('a recorded contract', () => {
  it('is the same in every run, and names neither tools nor folders', async () => {
    await using one = await record(204);
    await using other = await record(204);
    const text = await one.text();
    expect(await other.text()).toBe(text);
    expect(text).not.toMatch(/pact-?(js|rust)|version": "(?!4\.0")|\/tmp|file:/i);
    await writeFile(contractFile(CONSUMER, folder), text);
    await one.expectKept(folder);
  });

  it('fails its consumer once it is not the one that is kept', async () => {
    await using kept = await record(204);
    await writeFile(contractFile(CONSUMER, folder), await kept.text());
    await using drifted = await record(202);
    await expect(drifted.expectKept(folder)).rejects.toThrow('202');
  });

  it('does not hold what the consumer did not ask for', async () => {
    await using recording = await ContractRecording.start(CONSUMER);
    const interaction = {
      uponReceiving: 'a request that never comes',
      withRequest: { method: 'GET', path: '/' },
      willRespondWith: { status: 204 },
    };
    await expect(recording.request(interaction, async () => {})).rejects.toThrow('The following request was expected');
  });
});
