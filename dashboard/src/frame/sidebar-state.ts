/** Whether the sidebar is the narrow column of icons, also on a wide screen. Kept in this browser. */

const name = 'geode-sidebar';

applySidebar(localStorage.getItem(name) === 'rail');

export function toggleSidebar(): void {
  const isNarrow = document.documentElement.dataset.sidebar !== 'rail';
  applySidebar(isNarrow);
  if (isNarrow) localStorage.setItem(name, 'rail');
  else localStorage.removeItem(name);
}

function applySidebar(isNarrow: boolean): void {
  if (isNarrow) document.documentElement.dataset.sidebar = 'rail';
  else delete document.documentElement.dataset.sidebar;
}
