import { describe, expect, it } from '@jest/globals';
import { runScript } from '../support/program.ts';
import { until } from '../support/until.ts';

const DEMO = {
  CLIENT_REPOSITORY: 'memory',
  CLIENTS_FILE: 'config/demo/clients.json',
  PORT: '0',
  MANAGEMENT_PORT: '0',
  SHUTDOWN_GRACE_MS: '0',
  BASE_URL: 'http://issuer.test',
};

describe('npm start', () => {
  it('stops in order when npm itself gets SIGTERM', async () => {
    await using npm = runScript('start', DEMO);
    await npm.printed(/"event":"started"/);
    npm.process.kill('SIGTERM');
    await until(() => npm.stdout().includes('"event":"stopped"'), 'the service stops');
    expect(await npm.ended()).toBe(0);
  });

  it('keeps the grace time when npm and its process group get SIGTERM', async () => {
    const graceMs = 1_500;
    await using npm = runScript('start', { ...DEMO, SHUTDOWN_GRACE_MS: String(graceMs) });
    await npm.printed(/"event":"started"/);
    process.kill(-(npm.process.pid ?? 0), 'SIGTERM');
    const timeOf = async (event: string) => {
      const [, time] = await npm.printed(new RegExp(`"time":"([^"]+)","event":"${event}"`));
      return Date.parse(time ?? '');
    };
    const stopping = await timeOf('stopping');
    expect((await timeOf('stopped')) - stopping).toBeGreaterThanOrEqual(graceMs - 10);
    expect(await npm.ended()).toBe(0);
  });

  it('stops at once when a terminal sends SIGINT to the process group', async () => {
    // Longer than a test may take.
    await using npm = runScript('start', { ...DEMO, SHUTDOWN_GRACE_MS: '300000' });
    await npm.printed(/"event":"started"/);
    process.kill(-(npm.process.pid ?? 0), 'SIGINT');
    await until(() => npm.stdout().includes('"event":"stopped"'), 'the service stops');
    await npm.ended();
  });
});
