const hiddenName = 'geode-setup-hidden';
const skippedName = 'geode-channel-skipped';

export function isSetupHidden(): boolean {
  return localStorage.getItem(hiddenName) === 'yes';
}

export function setSetupHidden(isHidden: boolean): void {
  localStorage.setItem(hiddenName, isHidden ? 'yes' : 'no');
}

export function isChannelSkipped(): boolean {
  return localStorage.getItem(skippedName) === 'yes';
}

export function skipChannel(): void {
  localStorage.setItem(skippedName, 'yes');
}
