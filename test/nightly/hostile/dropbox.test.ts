import t from 'tap'
import { nameTraits } from '../../../adapters/backends/dropbox/entry.ts'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { dropbox } from '../../hostile/cloud-back-ends.ts'
import { namesAllowedBy } from '../../hostile/corpus.ts'

attackBackEnd(t, 'Dropbox', dropbox, { every: 4, names: namesAllowedBy(nameTraits) })
