// Notes of spots appear at once, and pointing at a line or its name makes the others step back. Without scripts, the
// titles of the drawings say the same.
const tip = document.getElementById('tip');
for (const point of document.querySelectorAll('.point')) {
  const title = point.querySelector('title');
  if (!title) continue;
  const note = title.textContent;
  title.remove();
  point.setAttribute('aria-label', note);
  point.addEventListener('mouseenter', () => {
    tip.textContent = note;
    tip.style.display = 'block';
    const place = point.getBoundingClientRect();
    const left = Math.min(place.right + 6, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(8, left) + window.scrollX}px`;
    tip.style.top = `${place.top + window.scrollY - tip.offsetHeight - 4}px`;
  });
  point.addEventListener('mouseleave', () => { tip.style.display = 'none'; });
}
for (const part of document.querySelectorAll('[data-series]')) {
  const svg = part.ownerSVGElement;
  const mark = (on) => {
    svg.classList.toggle('dim', on);
    for (const same of svg.querySelectorAll(`[data-series="${part.dataset.series}"]`)) same.classList.toggle('chosen', on);
  };
  part.addEventListener('mouseenter', () => mark(true));
  part.addEventListener('mouseleave', () => mark(false));
}
document.documentElement.dataset.ready = document.querySelectorAll('.point[aria-label]').length;
