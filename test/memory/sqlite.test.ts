import { openMemory } from '../../src/memory/open-memory.ts';
import { memoryContract } from '../contracts/memory.ts';

memoryContract('SQLite', openMemory);
