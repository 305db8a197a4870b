import { describe, expect, it } from '@jest/globals';
import type { CpuProfile } from '../cpu-profile.ts';
import { flameTree, type TimedProfile } from './flame-tree.ts';

const ROOT = 'file:///app/';

type Node = CpuProfile['nodes'][number];

const node = (id: number, functionName: string, url: string, children: readonly number[] = []): Node => ({
  id,
  callFrame: { functionName, url },
  children,
});

/** A process that signs, then waits. The ids differ from process to process. */
function worker(firstId: number, signing: number): TimedProfile {
  const id = (n: number) => firstId + n;
  const nodes = [
    node(id(0), '(root)', '', [id(1), id(2), id(3)]),
    node(id(1), '', `${ROOT}adapters/jwt/signer.ts`, [id(4)]),
    node(id(2), '(idle)', ''),
    node(id(3), 'respond', `${ROOT}node_modules/koa/lib/application.js`),
    node(id(4), 'signOneShot', 'node:internal/crypto/sig'),
  ];
  const times = new Map([
    [id(2), 5_000],
    [id(3), 2],
    [id(1), 8],
    [id(4), signing],
  ]);
  return { profile: { nodes, samples: [], timeDeltas: [] }, times };
}

describe('the call paths of several processes', () => {
  const tree = flameTree([worker(1, 60), worker(101, 30)], 0.03, ROOT);

  it('are merged, without idle time', () => {
    expect(tree).toMatchObject({ name: 'all', time: 110 });
    expect(tree.children[0]).toEqual({
      name: '(in signer.ts)',
      place: 'adapters/jwt/signer.ts',
      part: 'this service',
      time: 106,
      children: [
        { name: 'signOneShot', place: 'node:internal/crypto/sig', part: 'RSA signature', time: 90, children: [] },
      ],
    });
  });

  it('have no folder of the machine, of a package neither', () => {
    expect(tree.children[1]).toMatchObject({ name: 'respond', place: 'node_modules/koa/lib/application.js' });
    const elsewhere = worker(1, 60);
    expect(JSON.stringify(flameTree([elsewhere], 0, 'file:///other/'))).not.toContain('file:');
  });

  it('have no frame below the least share, whose time still counts for its caller', () => {
    const { time, children } = flameTree([worker(1, 60), worker(101, 30)], 0.04, ROOT);
    expect(time).toBe(110);
    expect(children.map(({ name }) => name)).toEqual(['(in signer.ts)']);
  });

  it('are empty without profiles', () => {
    expect(flameTree([], 0.005, ROOT)).toMatchObject({ time: 0, children: [] });
  });
});
