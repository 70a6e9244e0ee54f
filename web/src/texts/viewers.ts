import { catalog } from './catalog.ts'
import { formatCount, formatNumber } from './format.ts'

/** The viewers of files. */
export const texts = catalog('viewers', {
  // The frame
  download: 'Download',
  share: 'Share…',
  delete: 'Delete',
  name: 'Name',
  path: 'Path',
  size: 'Size',
  type: 'Type',
  modified: 'Modified',
  exactSize: (size: string, bytes: number) => (bytes < 1000 ? size : `${size} (${formatCount(bytes, 'byte')})`),
  position: (number: number, count: number) => `${formatNumber(number)} of ${formatNumber(count)}`,
  previousFile: 'Previous file',
  nextFile: 'Next file',
  slideshow: 'Slideshow',
  stopSlideshow: 'Stop the slideshow',
  fullScreen: 'Full screen',
  information: 'Information',
  noPreview: 'No preview for this type of file',
  zoom: 'Zoom',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  zoomFit: (percent: string) => `${percent}, fit to the window`,
  percent: (percent: number) => `${percent}%`,
  editor: 'Editor',
  textOf: (name: string) => `Text of ${name}`,
  discard: 'Discard changes',
  discardTitle: 'Discard your changes?',
  discardHelp: (name: string) => `Your changes to “${name}” are not saved.`,
  changedMeanwhile:
    'Somebody else changed this file after you opened it, so your changes were not saved. Save your text as a copy, or discard it and show the new version.',
  saveCopy: 'Save as a copy',
  showTheirs: 'Show the new version',
  savedAs: (name: string) => `Saved as “${name}”`,
  mediaFailed: 'This browser cannot show the file. Download it instead.',
  pdfFailed: 'This PDF file cannot be shown. Download it instead.',
  pdfTools: 'Document',
  pages: 'Pages',
  goToPage: (number: number) => `Go to page ${formatNumber(number)}`,
  pageNumber: 'Page number',
  ofPages: (count: number) => `of ${formatNumber(count)}`,
  searchDocument: 'Search the document',
  match: (number: number, count: number) => `${formatNumber(number)} of ${formatNumber(count)}`,
  noMatch: 'No matches',
  previousMatch: 'Previous match',
  nextMatch: 'Next match',
  page: (number: number, count: number) => `Page ${number} of ${count}`,
  imageOf: (text: string) => (text === '' ? '[image]' : `[image: ${text}]`),
  pdfTooLarge: (size: string) => `PDF files over ${size} have no preview. Download the file instead.`,
  onlyFirst: (size: string) => `Only the first ${size} are shown. Download the file for the rest.`,
  firstRows: (count: string) => `Only the first ${count} rows are shown. Download the file for the rest.`,
  hiddenColumns: (count: number) =>
    `${formatCount(count, 'more column is', 'more columns are')} not shown. Download the file to see everything.`,
  firstPages: (shown: number, count: number) =>
    `${formatNumber(shown)} of ${formatCount(count, 'page is', 'pages are')} shown.`,
  notUtf8: 'This file is not UTF-8. It is shown as Western European (Windows-1252).',

  // Photos
  photo: 'Photo',
  takenAt: 'Taken',
  camera: 'Camera',
  lens: 'Lens',
  settings: 'Settings',
  dimensions: 'Dimensions',
  place: 'Place',
  copyPlace: 'Copy the place',
  exposure: (seconds: number) =>
    seconds < 0.4 ? `1/${formatNumber(Math.round(1 / seconds))} s` : `${formatNumber(seconds)} s`,
  aperture: (number: number) => `f/${formatNumber(number)}`,
  sensitivity: (number: number) => `ISO ${formatNumber(number)}`,
  focalLength: (millimeters: number) => `${formatNumber(millimeters)} mm`,
  pixelsOf: (width: number, height: number) => `${formatNumber(width)} × ${formatNumber(height)}`,
  coordinates: (latitude: number, longitude: number) =>
    `${Math.abs(latitude).toFixed(4)}° ${latitude < 0 ? 'S' : 'N'}, ${Math.abs(longitude).toFixed(4)}° ${longitude < 0 ? 'W' : 'E'}`,
  altitude: (meters: number) => `${formatNumber(Math.round(meters))} m`,

  // Office documents
  converting: 'Preparing the document',

  // Books
  chapters: 'Chapters',
  chapter: 'Chapter',
  chapterNumber: (number: number) => `Chapter ${formatNumber(number)}`,
  previousChapter: 'Previous chapter',
  nextChapter: 'Next chapter',
  chapterFailed: 'This chapter cannot be shown.',
  bookFailed: 'This book cannot be shown. Download it instead.',

  // Archives
  archiveHolds: (files: number, size: string, isAll: boolean) =>
    `${isAll ? '' : 'At least '}${formatCount(files, 'file')}, ${size}`,
  archivedFiles: (count: number) => formatCount(count, 'file'),
  archiveEmpty: 'Nothing is in this folder of the archive.',
  archiveFailed: 'This archive cannot be listed. Download it instead.',
  firstEntries: (count: string) => `Only the first ${count} entries of this folder are shown.`,

  // Fonts
  fontSample: 'The quick brown fox jumps over the lazy dog',
  fontLetters: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ\nabcdefghijklmnopqrstuvwxyz\n0123456789 .,:;!?&@%€$ ÄÖÜß éèñ',
  fontText: 'Your text',
  fontFailed: 'This browser cannot show the font. Download it instead.',
  pixels: (count: number) => `${count} px`,

  // Sounds
  queue: 'Queue',
})
