/** The icons of actions. Kinds of files and types of storage have icons of their own, in color. */
import {
  ArrowDownToLine,
  ArrowUpFromLine,
  Camera,
  ChartPie,
  Check,
  ChevronDown,
  ChevronLeft,
  ChevronRight,
  ChevronUp,
  CircleAlert,
  Clock,
  Copy,
  Ellipsis,
  Expand,
  ExternalLink,
  File,
  FilePlus,
  Folder,
  FolderInput,
  FolderPlus,
  FolderUp,
  Grid2x2,
  History,
  House,
  Image,
  Images,
  Info,
  Languages,
  Link,
  ListChecks,
  Lock,
  LogOut,
  Menu,
  Minus,
  Monitor,
  Moon,
  Pause,
  Pencil,
  Play,
  Plus,
  RefreshCw,
  Rows3,
  Rows4,
  Search,
  Server,
  Settings,
  Share2,
  Star,
  Sun,
  Tag,
  Trash2,
  X,
} from 'lucide'
import { createElement } from 'react'
import './parts.css'

/** Lines on a 24 × 24 grid. Icons are decorative: the text or label beside each one names it. */
const shapes = {
  alert: CircleAlert,
  camera: Camera,
  chart: ChartPie,
  check: Check,
  clock: Clock,
  copy: Copy,
  cross: X,
  dark: Moon,
  down: ChevronDown,
  download: ArrowDownToLine,
  drive: Server,
  expand: Expand,
  external: ExternalLink,
  file: File,
  folder: Folder,
  grid: Grid2x2,
  history: History,
  home: House,
  image: Image,
  info: Info,
  jobs: ListChecks,
  left: ChevronLeft,
  light: Sun,
  lines: Rows4,
  link: Link,
  lock: Lock,
  menu: Menu,
  minus: Minus,
  language: Languages,
  more: Ellipsis,
  move: FolderInput,
  'new-file': FilePlus,
  'new-folder': FolderPlus,
  pause: Pause,
  pencil: Pencil,
  photos: Images,
  play: Play,
  plus: Plus,
  refresh: RefreshCw,
  right: ChevronRight,
  rows: Rows3,
  search: Search,
  settings: Settings,
  share: Share2,
  'sign-out': LogOut,
  star: Star,
  system: Monitor,
  tag: Tag,
  trash: Trash2,
  up: ChevronUp,
  upload: ArrowUpFromLine,
  'upload-folder': FolderUp,
} as const

export type IconName = keyof typeof shapes

/** The icons that point along the line of text, which begins at the right in some languages. */
const mirrored: ReadonlySet<IconName> = new Set(['left', 'right', 'sign-out'])

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className={mirrored.has(name) ? 'icon mirrored' : 'icon'} viewBox="0 0 24 24" aria-hidden="true">
      {shapes[name].map(([tag, attributes], index) => createElement(tag, { key: index, ...attributes }))}
    </svg>
  )
}

/** The icons, for the page that shows all of them. */
export const iconNames = Object.keys(shapes) as IconName[]
