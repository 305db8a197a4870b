import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { PROGRAM } from '../packages/archive.ts';

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/**
 * Where each way to run the service starts Node.js. The unit for systemd runs the program of the archive, Compose and
 * Kubernetes the image.
 */
const STARTS = {
  'npm start': scripts['start'],
  'npm run demo': scripts['demo'],
  'the image': /^ENTRYPOINT (.*)$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1],
  'the archive': PROGRAM,
};

/** Where a limit is, and what it looks like there. */
const LIMITS = [
  ['deploy/helm/ccauth/values.yaml', /memory: (\d+)Mi/g],
  ['deploy/kubernetes/ccauth.yaml', /memory: (\d+)Mi/g],
  ['docker-compose.yml', /mem_limit: (\d+)m/g],
  ['deploy/compose/replicas.yml', /mem_limit: (\d+)m/g],
  ['deploy/systemd/ccauth.service', /^MemoryMax=(\d+)M/gm],
] as const;

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, value]) => value);

describe('the memory of the service', () => {
  it.each(Object.entries(STARTS))('is limited for young objects by %s', (_, start = '') => {
    expect(found(start, /--max-semi-space-size=(\d+)/g)).toEqual(['8']);
  });

  it.each(LIMITS)('is limited to what docs/operate.md says, by %s', (file, pattern) => {
    const [documented] = found(readFileSync('docs/operate.md', 'utf8'), /limit of (\d+) MiB/g);
    expect(documented).toBeDefined();
    expect(new Set(found(readFileSync(file, 'utf8'), pattern))).toEqual(new Set([documented]));
  });
});
