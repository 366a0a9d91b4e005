/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */
function n({data:e}){document.documentElement.lang=e.language,e.chosen&&(document.cookie=`headscope_language=${e.chosen}; path=/; max-age=31536000; samesite=lax`)}export{n as default};
