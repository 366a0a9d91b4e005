/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */
import{g as o}from"./site-ZJRCI2QC.js";function l({model:r,sentences:t,switches:e,in_words:n}){return{stem:[r],lines:[t,n].filter(Boolean).map(o),switches:e}}export{l as a};
