import { z } from 'zod';
import { driverNames } from '../seams/agent.ts';

/** The name of an ACP agent in the config. */
export const acpName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'use a-z, 0-9 and -');

/** The driver of a conversation. */
export const driverName = z.union([z.enum(driverNames), z.templateLiteral(['acp:', acpName])]);
