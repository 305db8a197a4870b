import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type JsonEntry, readJsonArray } from '../../../adapters/files/read-json-array.ts';
import { collect } from '../../support/collect.ts';

/** The text in chunks of these sizes, the last of which is repeated. */
async function* chunksOf(text: string | Buffer, sizes: readonly number[]) {
  const bytes = Buffer.from(text);
  for (let start = 0, index = 0; start < bytes.length; index += 1) {
    const end = start + (sizes[Math.min(index, sizes.length - 1)] ?? bytes.length);
    yield bytes.subarray(start, end);
    start = end;
  }
}

function read(text: string, sizes: readonly number[] = []): Promise<readonly JsonEntry[]> {
  return collect(readJsonArray(chunksOf(text, sizes)));
}

function parseArray(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const SIZES = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });

describe('readJsonArray', () => {
  it('reads the same values as JSON.parse, however the text is cut into chunks', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue()), fc.constantFrom(0, 1), SIZES, async (values, indent, sizes) => {
        const text = ` ${JSON.stringify(values, null, indent)}\r\n`;
        const entries = await read(text, sizes);
        expect(entries).toEqual((JSON.parse(text) as unknown[]).map((value) => ({ ok: true, value })));
      }),
    ));

  it('accepts a text if and only if JSON.parse accepts it as an array', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...'[]{},:"\\ 1a\n'), { maxLength: 12 }),
        SIZES,
        async (letters, sizes) => {
          for (const text of [letters.join(''), `[${letters.join('')}]`]) {
            const entries = await read(text, sizes);
            const isAccepted = entries.every(({ ok }) => ok);
            expect([text, isAccepted]).toEqual([text, parseArray(text) !== undefined]);
          }
        },
      ),
      { numRuns: 2_000 },
    ));

  it.each([
    ['', undefined, 'must be a JSON array'],
    ['{}', undefined, 'must be a JSON array'],
    ['[] []', undefined, 'must be a JSON array'],
    ['\ufeff[]', undefined, 'must be a JSON array'],
    ['[1, 2', 1, 'is not complete: the text ends inside the array'],
    ['[1, {"a": "b', 1, 'is not complete: the text ends inside the array'],
    ['[1, 2,]', 2, 'is missing: a comma before the end of the array, in line 1'],
    ['[1,\n 2,\n]', 2, 'is missing: a comma before the end of the array, in line 2'],
    ['[1, [}, 3]', 1, 'is not JSON; it begins in line 1'],
    ['\n[1,\n\n [},\n 3]', 1, 'is not JSON; it begins in line 4'],
    ['\n[,1]', 0, 'is not JSON; it begins in line 2'],
    ['[1,\n\n,2]', 1, 'is not JSON; it begins in line 3'],
  ])('names the problem of %j, and nothing after it', async (text, position, problem) => {
    for (const size of [1, 100]) {
      expect((await read(text, [size])).at(-1)).toEqual({ ok: false, problem: { position, text: problem } });
    }
  });

  it('refuses an entry over 1 MiB without reading it to its end', async () => {
    let chunks = 0;
    async function* endless() {
      yield Buffer.from('[1, "');
      for (;;) {
        chunks += 1;
        yield Buffer.alloc(65_536, 'x');
      }
    }
    const problem = { position: 1, text: 'is longer than 1048576 bytes' };
    expect(await collect(readJsonArray(endless()))).toEqual([
      { ok: true, value: 1 },
      { ok: false, problem },
    ]);
    expect(chunks).toBe(16);
    const whole = `[1, "${'x'.repeat(1_048_577)}"]`;
    expect((await read(whole)).at(-1)).toEqual({ ok: false, problem });
  });

  it('reads an entry of exactly 1 MiB, in one chunk or in several', async () => {
    const value = 'x'.repeat(1_048_576 - 2);
    for (const size of [2_000_000, 65_536]) expect(await read(JSON.stringify([value, 1]), [size])).toHaveLength(2);
    const problem = { position: 0, text: 'is longer than 1048576 bytes' };
    for (const size of [2_000_000, 65_536]) {
      expect((await read(JSON.stringify([`${value}x`, 1]), [size])).at(-1)).toEqual({ ok: false, problem });
    }
  });

  it('reads chunks whose memory is used again for the next one', async () => {
    const text = JSON.stringify(['first', 'second', 'third']);
    async function* reused() {
      const memory = Buffer.alloc(5);
      for (let start = 0; start < text.length; start += 5)
        yield memory.subarray(0, memory.write(text.slice(start, start + 5)));
    }
    expect(await collect(readJsonArray(reused()))).toEqual(
      ['first', 'second', 'third'].map((value) => ({ ok: true, value })),
    );
  });

  it('returns the entries of each chunk in one batch, and keeps none of them for the next one', async () => {
    const sizesOf = async (values: readonly unknown[], chunkSize: number) => {
      const sizes: number[] = [];
      for await (const batch of readJsonArray(chunksOf(JSON.stringify(values), [chunkSize]))) sizes.push(batch.length);
      return sizes;
    };
    expect(await sizesOf([1, 2, 3, 4, 5], 4)).toEqual([1, 2, 2, 0]);
    expect(await sizesOf(['x'.repeat(10), 'y'], 6)).toEqual([0, 0, 2, 0]);
  });
});
