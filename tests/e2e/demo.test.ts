import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.ts';
import { runProgram } from '../support/program.ts';

const bash = (command: string) => promisify(execFile)('bash', ['-c', command]);

describe('npm run demo', () => {
  it('prints two curl lines that can be pasted and work', async () => {
    const port = await freePort();
    await using program = runProgram('config/demo.ts', { PORT: String(port) });
    await program.printed(/Stop it with Ctrl-C/);
    // What can be pasted comes first, and the log of the start is not lost.
    expect(program.stdout()).toMatch(/^\nThe authorization service listens on /);
    await program.printed(/^\{.*"event":"started"/m);
    const lines = program.stdout().match(/^ {2}curl .*$/gm) ?? [];
    expect(lines).toHaveLength(2);
    const [tokenLine = '', locationLine = ''] = lines;
    expect(JSON.parse((await bash(tokenLine)).stdout)).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 300,
    });
    expect(JSON.parse((await bash(locationLine)).stdout)).toMatchObject({ code: 'NYC_USA', enabled: true });
  });
});
