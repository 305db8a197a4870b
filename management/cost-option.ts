import { InvalidArgumentError, Option } from 'commander';
import { BCRYPT_COST_MAX, BCRYPT_COST_MIN } from '../domain/stored-secret.ts';
import { DEFAULT_COST } from './encode-secret.ts';

/** The options of commands that encode a secret, as the library hands them over. */
export interface CostOption {
  readonly cost: number;
}

/** `--cost`: what each check of the secret will cost the service. */
export function costOption(): Option {
  return new Option('--cost <cost>', `BCrypt cost, ${BCRYPT_COST_MIN} to ${BCRYPT_COST_MAX}`)
    .argParser(parseCost)
    .default(DEFAULT_COST);
}

function parseCost(text: string): number {
  const cost = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (cost >= BCRYPT_COST_MIN && cost <= BCRYPT_COST_MAX) return cost;
  throw new InvalidArgumentError(`It must be a whole number from ${BCRYPT_COST_MIN} to ${BCRYPT_COST_MAX}.`);
}
