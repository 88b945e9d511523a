/** Whether single letters act as keys. Speech input types letters, so a person can switch them off. */
const storageName = 'geode-single-keys';

export function singleKeysAllowed(): boolean {
  return localStorage.getItem(storageName) !== 'off';
}

export function setSingleKeys(isOn: boolean): void {
  localStorage.setItem(storageName, isOn ? 'on' : 'off');
}
