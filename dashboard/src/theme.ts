export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const storageName = 'geode-theme';

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(storageName);
  return themes.find((theme) => theme === kept) ?? 'system';
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  localStorage.setItem(storageName, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
