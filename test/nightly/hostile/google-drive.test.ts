import t from 'tap'
import { toShown } from '../../../adapters/backends/google-drive/names.ts'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { googleDrive } from '../../hostile/back-ends.ts'
import { namesOthersGive } from '../../hostile/corpus.ts'

attackBackEnd(t, 'Google Drive', googleDrive, {
  every: 2,
  names: [...namesOthersGive, '..', '.', '../../canary-documents/seed.txt', '/', 'a/b', 'nul\0'],
  shown: toShown,
})
