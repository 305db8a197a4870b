import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Command } from './installed-project.ts';

/** A program that verifies tokens, one on each line. */
export interface Verifier extends AsyncDisposable {
  /** `accepted` and the caller, or `refused` and the reason. */
  verify(token: string): Promise<string>;
}

/** Starts a program that answers each line of standard input with a line that has `accepted` or `refused`. */
export function startVerifier(
  [program, ...args]: Command,
  folder: string,
  environment: Readonly<Record<string, string>>,
): Verifier {
  const env = { ...process.env, ...environment };
  const child = spawn(program, args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async verify(token) {
      child.stdin.write(`${token}\n`);
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`${program} has ended`);
        // Other lines are notes of the build tool, which may also write color codes in front of a response.
        const [response] = /(?:accepted|refused) .*/.exec(value) ?? [];
        if (response !== undefined) return response;
      }
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await ended;
    },
  };
}
