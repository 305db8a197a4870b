import { RandomIdGenerator, randomSecret, SystemClock } from '../../../adapters/system/system.ts';
import { describeClock } from '../../contracts/clock.ts';
import { describeIdGenerator } from '../../contracts/id-generator.ts';
import { describeSecretGenerator } from '../../contracts/secret-generator.ts';
import { FixedClock } from '../../support/fixed-clock.ts';

describeClock('SystemClock', () => new SystemClock());
describeClock('FixedClock', () => new FixedClock());
describeIdGenerator('RandomIdGenerator', () => new RandomIdGenerator());
describeSecretGenerator('randomSecret', randomSecret);
