import { catalog } from './catalog.ts'

/** The pages of a new workspace, from the account of the owner to the first files. */
export const texts = catalog('start', {
  steps: 'First steps',
  stages: ['Account', 'Storage', 'First files'],
  useServerDisk: "Use this server's disk",
  addSample: 'Add a sample folder',
  /** The name of the sample folder. */
  sample: 'Sample',
  /** The content of a text in the sample folder. */
  sampleWelcome:
    'These files are only here to try things out. Open, share, rename and move them, and remove the folder when you no longer need it.',
  sampleHelp: (name: string) => `The folder “${name}” is only there to try things out.`,
  removeSample: 'Remove the sample folder',
})
