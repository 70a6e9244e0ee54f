import './parts.css'

/** SVG paths on a 24 × 24 grid. Icons are decorative: the text or label beside each one names it. */
const shapes = {
  folder: 'M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9.5h.01',
  video: 'M3 6h12v12H3zM15 10.5 21 7v10l-6-3.5',
  audio: 'M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM19 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z',
  text: 'M6 3h8l4 4v14H6zM9 11h6M9 14h6M9 17h4',
  code: 'M6 3h8l4 4v14H6zM10.5 11 8.5 13.5l2 2.5M13.5 11l2 2.5-2 2.5',
  pdf: 'M6 3h8l4 4v14H6zM9 17v-5h1.5a1.5 1.5 0 0 1 0 3H9',
  table: 'M4 5h16v14H4zM4 10h16M4 14.5h16M10 5v14',
  upload: 'M12 16V4M7 9l5-5 5 5M4 17v3h16v-3',
  download: 'M12 4v12M7 11l5 5 5-5M4 17v3h16v-3',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  pencil: 'M4 20v-4L16 4l4 4L8 20zM13 7l4 4',
  move: 'M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2zM9 13h6M12.5 10.5 15 13l-2.5 2.5',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  trash: 'M5 7h14M10 4h4M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  refresh: 'M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6',
  sidebar: 'M4 5h16v14H4zM10 5v14',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01',
  drive: 'M4 14h16v5H4zM4 14l3-9h10l3 9M16.5 16.5h.01',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM15.5 15.5 20 20',
  history: 'M4.5 12a7.5 7.5 0 1 0 2.2-5.3L4 9M4 4.5V9h4.5M12 8v4l3 2',
  chart: 'M4 5h9v8H4zM15 5h5v5h-5zM15 12h5v7h-5zM4 15h9v4H4z',
  grid: 'M4 5h9v6H4zM15 5h5v6h-5zM4 13h5v6H4zM11 13h9v6h-9z',
  rows: 'M4 6h16M4 12h16M4 18h16',
  play: 'M8 5.5v13l10-6.5z',
  pause: 'M8 5.5v13M16 5.5v13',
  expand: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  cross: 'M6 6l12 12M18 6 6 18',
  up: 'M7 14l5-5 5 5',
  down: 'M7 10l5 5 5-5',
  left: 'M14 7l-5 5 5 5',
  right: 'M10 7l5 5-5 5',
} as const

export type IconName = keyof typeof shapes

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  )
}
