/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */
function o({data:e}){document.documentElement.lang=e.language;for(let[n,t]of Object.entries(e.keep))document.cookie=`${n}=${t}; path=/; max-age=31536000; samesite=lax`}export{o as default};
