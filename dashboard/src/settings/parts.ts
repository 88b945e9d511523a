import { text } from '../text.ts';

/** The parts of the settings, in the order of the navigation. */
export const settingsParts = text.settings.parts;
export type SettingsPart = keyof typeof settingsParts;
